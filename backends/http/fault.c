/* What failures mean: errno, kind, whether another attempt may do better, and a sentence. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/http/http.h"

enum { PATIENCE_S = 3600, SKEW_MAX_S = 900 };

static void say(struct request *req, int status, enum request_fault fault, bool transient,
		const char *why)
{
	req->answer.status = status;
	req->answer.fault = (uint8_t)fault;
	req->answer.transient = transient;
	if (why || !req->answer.why)
		req->answer.why = why;
}

/* No whole answer. */
void fault_of_exchange(struct slot *s)
{
	const struct exchange *x = &s->exchange;
	bool passes = x->fault != REQ_FAULT_NONE && x->fault != REQ_FAULT_TLS &&
		      x->fault != REQ_FAULT_OTHER;

	say(s->req, x->status, x->fault == REQ_FAULT_NONE ? REQ_FAULT_OTHER : x->fault, passes,
	    x->why);
}

struct meaning {
	const char *code; /* as S3, Azure or Google name it */
	int status;
	enum request_fault fault;
	bool transient;
	const char *why;
};

static const struct meaning meanings[] = {
	{"SignatureDoesNotMatch", -EACCES, REQ_FAULT_DENIED, false,
	 "the secret does not fit the access key (SignatureDoesNotMatch)"},
	{"InvalidAccessKeyId", -EACCES, REQ_FAULT_DENIED, false,
	 "no such access key (InvalidAccessKeyId)"},
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
	 "the credentials are not of the kind or form that the server takes"},
	{"AuthorizationHeaderMalformed", -EACCES, REQ_FAULT_DENIED, false,
	 "signed for another region than the bucket's; set \"region\""},
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
	{"EntityTooLarge", -EFBIG, REQ_FAULT_OTHER, false, "larger than the store allows"},
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
	 "the server did not manage it in time"},
	{"OperationAborted", -EAGAIN, REQ_FAULT_SERVER, true, NULL},
	{"SlowDown", -EAGAIN, REQ_FAULT_THROTTLE, true, "the store asks to slow down (SlowDown)"},
	{"ServerBusy", -EAGAIN, REQ_FAULT_THROTTLE, true, "the store is busy (ServerBusy)"},
	{"TooManyRequests", -EAGAIN, REQ_FAULT_THROTTLE, true, "too many requests"},
	{"InternalError", -EIO, REQ_FAULT_SERVER, true, "the store failed (InternalError)"},
	{"ServiceUnavailable", -EAGAIN, REQ_FAULT_SERVER, true, "the store is not available"},
};

static const struct meaning *meaning_of(const char *code)
{
	for (size_t i = 0; code[0] && i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (strcasecmp(meanings[i].code, code) == 0)
			return &meanings[i];
	}
	return NULL;
}

static void by_status(struct request *req, unsigned status)
{
	switch (status) {
	case 400:
		say(req, -EINVAL, REQ_FAULT_OTHER, false,
		    "the server does not take the request (400)");
		break;
	case 401:
	case 403:
		say(req, -EACCES, REQ_FAULT_DENIED, false, "the server denies it");
		break;
	case 404:
	case 410:
		say(req, -ENOENT, REQ_FAULT_MISSING, false, NULL);
		break;
	case 408:
		say(req, -ETIMEDOUT, REQ_FAULT_TIMEOUT, true,
		    "the server waited too long for the request");
		break;
	case 409:
	case 412:
		say(req, -EBUSY, REQ_FAULT_OTHER, false, "the object's state does not allow it");
		break;
	case 416:
		say(req, -ENODATA, REQ_FAULT_OTHER, false, NULL);
		break;
	case 429:
		say(req, -EAGAIN, REQ_FAULT_THROTTLE, true, "too many requests");
		break;
	case 500:
		say(req, -EIO, REQ_FAULT_SERVER, true, "the store failed (500)");
		break;
	case 502:
	case 504:
		say(req, -EIO, REQ_FAULT_SERVER, true,
		    "what stands before the store got no answer");
		break;
	case 503: /* S3's and Azure's word for too many requests; a HEAD has no body that says so */
		say(req, -EAGAIN, REQ_FAULT_THROTTLE, true,
		    "the store asks to come back later (503)");
		break;
	case 501:
		say(req, -ENOTSUP, REQ_FAULT_OTHER, false,
		    "the store does not know this operation");
		break;
	default:
		say(req, status / 100 == 3 ? -EREMOTE : -EPROTO, REQ_FAULT_OTHER, false,
		    status / 100 == 3 ? "redirected to nowhere" : "an answer that makes no sense");
	}
}

static int code_element(void *user, const char *path, const char *text)
{
	struct http_answer *a = user;
	size_t n = strlen(text);

	if (strcmp(path, "Error/Code") == 0 && n < sizeof(a->code))
		memcpy(a->code, text, n + 1);
	return 0;
}

/* "<Error><Code>…" */
static void find_code(struct slot *s)
{
	struct http_answer *a = &s->exchange.answer;
	struct xml *x;

	if (a->code[0] || !s->small_used || s->small[0] != '<' || xml_open(&x, code_element, a) < 0)
		return;
	xml_feed(x, s->small, s->small_used);
	xml_close(x);
}

/* The server's clock less this machine's, in seconds. */
static int64_t clock_off(int64_t date)
{
	return date - (int64_t)(clock_utc_ns() / 1000000000);
}

/* A signature was refused for its time. Azure has no code of its own for that: the refusal's date tells. By
 * this machine's clock, not by what has been learnt: others were signed before that. */
static bool refused_for_time(const char *code, int64_t date)
{
	if (strcasecmp(code, "RequestTimeTooSkewed") == 0)
		return date;
	return date && strcasecmp(code, "AuthenticationFailed") == 0 &&
	       llabs(clock_off(date)) > SKEW_MAX_S;
}

/* What another signature may mend: the clock, or keys that have expired. */
static bool mend(struct slot *s, const char *code)
{
	struct http_channel *ch = s->channel;
	int64_t date = answer_date(&s->exchange.answer);
	bool expired = strcasecmp(code, "ExpiredToken") == 0 || s->exchange.answer.status == 401;

	if (refused_for_time(code, date)) {
		atomic_store(&ch->store->skew, clock_off(date));
		say(s->req, -EACCES, REQ_FAULT_DENIED, s->req->answer.attempts <= 2,
		    "the clocks of this machine and the store differ too much");
		return true;
	}
	if (expired && s->req->answer.attempts <= 2 &&
	    credentials_expired(&ch->store->credentials, &ch->credentials)) {
		say(s->req, -EACCES, REQ_FAULT_DENIED, true, "the credentials have expired");
		return true;
	}
	if (expired) {
		say(s->req, -EACCES, REQ_FAULT_DENIED, false,
		    "the credentials have expired, or are none, and there are no newer ones");
		return true;
	}
	return false;
}

void fault_of_answer(struct slot *s)
{
	struct http_answer *a = &s->exchange.answer;
	const struct meaning *m;
	uint64_t retry_after_s;

	find_code(s);
	retry_after_s = answer_retry_after(a);
	s->req->answer.retry_after_ns =
		(retry_after_s < PATIENCE_S ? retry_after_s : PATIENCE_S) * UINT64_C(1000000000);
	if (mend(s, a->code))
		return;
	by_status(s->req, a->status);
	m = meaning_of(a->code);
	if (m)
		say(s->req, m->status, m->fault, m->transient, m->why);
	if (s->channel->store->dialect->explain)
		s->channel->store->dialect->explain(s);
}

void fault_of_key(struct slot *s, struct request_key *k, const char *code)
{
	static const struct meaning unknown = {"", -EIO, REQ_FAULT_SERVER, true,
					       "the store could not delete it"};
	const struct meaning *m = meaning_of(code);

	m = m ? m : &unknown;
	k->status = m->status;
	k->why = m->why;
	k->again = m->transient;
	if (m->status != -ENOENT &&
	    (!s->req->answer.fault || (m->transient && !s->req->answer.transient)))
		say(s->req, m->status, m->fault, m->transient, m->why);
}

int fault_in_success(struct slot *s)
{
	struct request *req = s->req;
	const struct meaning *m;

	find_code(s);
	if (!s->exchange.answer.code[0])
		return 0;
	m = meaning_of(s->exchange.answer.code);
	if (m)
		say(req, m->status, m->fault, m->transient, m->why);
	else
		say(req, -EIO, REQ_FAULT_SERVER, true, "an error in an answer that says success");
	return req->answer.status;
}
