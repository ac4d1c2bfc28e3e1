#include "backends/http/code.h"

#include <errno.h>
#include <stddef.h>
#include <strings.h>

#include "core/numbers.h"

static const struct code_meaning code_meanings[] = {
	{"SignatureDoesNotMatch", -EACCES, REQ_FAULT_DENIED, false,
	 "the secret does not fit the access key (SignatureDoesNotMatch)"},
	{"InvalidAccessKeyId", -EACCES, REQ_FAULT_DENIED, false,
	 "there is no such access key (InvalidAccessKeyId)"},
	{"AccessDenied", -EACCES, REQ_FAULT_DENIED, false,
	 "these credentials may not do this (AccessDenied)"},
	{"InvalidToken", -EACCES, REQ_FAULT_DENIED, false, "the session token is not valid"},
	{"AuthenticationFailed", -EACCES, REQ_FAULT_DENIED, false,
	 "the account key or signature is not accepted (AuthenticationFailed)"},
	{"AuthorizationFailure", -EACCES, REQ_FAULT_DENIED, false,
	 "the account key or signature is not accepted (AuthorizationFailure)"},
	{"AuthorizationPermissionMismatch", -EACCES, REQ_FAULT_DENIED, false,
	 "these credentials may not do this (AuthorizationPermissionMismatch)"},
	{"InvalidAuthenticationInfo", -EACCES, REQ_FAULT_DENIED, false,
	 "the server does not take credentials of this kind or form"},
	{"AuthorizationHeaderMalformed", -EACCES, REQ_FAULT_DENIED, false,
	 "the request is signed for another region than the bucket's; set \"region\""},
	{"NoAuthenticationInformation", -EACCES, REQ_FAULT_DENIED, false,
	 "the container is not public, and there are no credentials"},
	{"PublicAccessNotPermitted", -EACCES, REQ_FAULT_DENIED, false,
	 "the account allows nothing without credentials"},
	{"NoSuchBucket", -ENXIO, REQ_FAULT_MISSING, false, "there is no such bucket"},
	{"ContainerNotFound", -ENXIO, REQ_FAULT_MISSING, false, "there is no such container"},
	{"NoSuchKey", -ENOENT, REQ_FAULT_MISSING, false, NULL},
	{"BlobNotFound", -ENOENT, REQ_FAULT_MISSING, false, NULL},
	{"NoSuchUpload", -ESTALE, REQ_FAULT_MISSING, false,
	 "the upload in parts is gone (NoSuchUpload)"},
	{"EntityTooSmall", -EINVAL, REQ_FAULT_OTHER, false,
	 "parts of an upload have at least 5 MiB (EntityTooSmall)"},
	{"EntityTooLarge", -EFBIG, REQ_FAULT_OTHER, false,
	 "the object is larger than the store allows"},
	{"BadDigest", -EILSEQ, REQ_FAULT_OTHER, true, "the bytes changed on their way (BadDigest)"},
	{"Md5Mismatch", -EILSEQ, REQ_FAULT_OTHER, true,
	 "the bytes changed on their way (Md5Mismatch)"},
	{"XAmzContentChecksumMismatch", -EILSEQ, REQ_FAULT_OTHER, true,
	 "the bytes changed on their way (XAmzContentChecksumMismatch)"},
	{"XAmzContentSHA256Mismatch", -EILSEQ, REQ_FAULT_OTHER, true,
	 "the bytes changed on their way (XAmzContentSHA256Mismatch)"},
	{"QuotaExceeded", -EDQUOT, REQ_FAULT_OTHER, false, "the quota is used up"},
	{"RequestTimeout", -ETIMEDOUT, REQ_FAULT_TIMEOUT, true,
	 "the server waited too long for the request"},
	{"OperationTimedOut", -ETIMEDOUT, REQ_FAULT_SERVER, true,
	 "the server could not do it in time"},
	{"OperationAborted", -EAGAIN, REQ_FAULT_SERVER, true, NULL},
	{"SlowDown", -EAGAIN, REQ_FAULT_THROTTLE, true, "the store asks to slow down (SlowDown)"},
	{"ServerBusy", -EAGAIN, REQ_FAULT_THROTTLE, true, "the store is busy (ServerBusy)"},
	{"TooManyRequests", -EAGAIN, REQ_FAULT_THROTTLE, true, "too many requests"},
	{"InternalError", -EIO, REQ_FAULT_SERVER, true, "the store failed (InternalError)"},
	{"ServiceUnavailable", -EAGAIN, REQ_FAULT_SERVER, true, "the store is not available"},
};

const struct code_meaning *code_find(const char *code)
{
	for (size_t i = 0; code[0] && i < COUNT(code_meanings); i++) {
		if (strcasecmp(code_meanings[i].code, code) == 0)
			return &code_meanings[i];
	}
	return NULL;
}
