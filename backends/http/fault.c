/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/fault.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/http/dialect.h"
#include "core/numbers.h"
#include "core/time_ns.h"

enum { FAULT_SKEW_MAX_S = 900, FAULT_URL_BYTES = 200 };
static const char fault_user[] = "a URL with a user";
/* More than anybody waits; beyond it seconds would overflow nanoseconds. */
#define FAULT_RETRY_AFTER_MAX_S UINT64_C(1000000000)

/* A code by which stores name an error, in S3's, Azure's or Google's words, and what it means. */
struct code_meaning {
	const char *code;
	int status;
	enum request_fault fault;
	bool transient; /* another attempt may do better */
	const char *why;
};

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

/* NULL: nobody knows the code. */
static const struct code_meaning *code_find(const char *code)
{
	for (size_t i = 0; code[0] && i < COUNT(code_meanings); i++) {
		if (strcasecmp(code_meanings[i].code, code) == 0)
			return &code_meanings[i];
	}
	return NULL;
}

static void fault_set(struct request *req, int status, enum request_fault fault, bool transient,
		      const char *why)
{
	req->answer.status = status;
	req->answer.fault = (uint8_t)fault;
	req->answer.transient = transient;
	if (why || !req->answer.why)
		req->answer.why = why;
}

/* To whom there is no connection, and why not. */
static const char *fault_unreachable(const struct http_slot *s)
{
	const struct exchange *x = &s->exchange;
	const char *why = x->why ? x->why : request_status_text(x->status);
	struct sentences *kept = &s->channel->store->sentences;

	if (s->redirected_to[0])
		return sentence_keep(kept, "no connection to where the server redirects",
				     "%s redirects to %s, and there is no connection to it: %s",
				     slot_server(s)->name, s->redirected_to, why);
	if (s->channel->store->local.name[0])
		return sentence_keep(kept, "no connection",
				     "no connection to %s from interface %s: %s",
				     slot_server(s)->name, s->channel->store->local.name, why);
	return sentence_keep(kept, "no connection", "no connection to %s: %s", slot_server(s)->name,
			     why);
}

void fault_of_exchange(struct http_slot *s)
{
	const struct exchange *x = &s->exchange;
	bool passes = x->fault != REQ_FAULT_NONE && x->fault != REQ_FAULT_TLS &&
		      x->fault != REQ_FAULT_OTHER;

	fault_set(s->req, x->status, x->fault == REQ_FAULT_NONE ? REQ_FAULT_OTHER : x->fault,
		  passes, x->fault == REQ_FAULT_CONNECT ? fault_unreachable(s) : x->why);
}

/* A redirection that is not followed. */
static void fault_of_redirection(struct http_slot *s)
{
	const char *location = s->exchange.answer.location;
	size_t shown = text_url_shown(location);

	shown = shown > FAULT_URL_BYTES ? FAULT_URL_BYTES : shown;
	fault_set(s->req, -EREMOTE, REQ_FAULT_OTHER, false,
		  location[0] ? sentence_keep(&s->channel->store->sentences,
					      "the server redirects to where haul does not follow",
					      "%s redirects to %.*s, where haul does not follow",
					      slot_server(s)->name,
					      shown ? (int)shown : (int)strlen(fault_user),
					      shown ? location : fault_user)
			      : "the server redirects, but does not say where to");
}

static void fault_by_status(struct request *req, unsigned status)
{
	switch (status) {
	case 400:
		fault_set(req, -EINVAL, REQ_FAULT_OTHER, false,
			  "the server does not take the request");
		break;
	case 401:
	case 403:
		fault_set(req, -EACCES, REQ_FAULT_DENIED, false, "the server denies it");
		break;
	case 404:
	case 410:
		fault_set(req, -ENOENT, REQ_FAULT_MISSING, false, NULL);
		break;
	case 408:
		fault_set(req, -ETIMEDOUT, REQ_FAULT_TIMEOUT, true,
			  "the server waited too long for the request");
		break;
	case 409:
	case 412:
		fault_set(req, -EBUSY, REQ_FAULT_OTHER, false,
			  "the object's state does not allow it");
		break;
	case 416:
		fault_set(req, -ENODATA, REQ_FAULT_OTHER, false, NULL);
		break;
	case 429:
		fault_set(req, -EAGAIN, REQ_FAULT_THROTTLE, true, "too many requests");
		break;
	case 500:
		fault_set(req, -EIO, REQ_FAULT_SERVER, true, "the store failed");
		break;
	case 502:
	case 504:
		fault_set(req, -EIO, REQ_FAULT_SERVER, true,
			  "a server before the store got no answer from it");
		break;
	case 503: /* S3's and Azure's word for too many requests; a HEAD has no body that says so */
		fault_set(req, -EAGAIN, REQ_FAULT_THROTTLE, true, "the store asks to slow down");
		break;
	case 405:
	case 501:
		fault_set(req, -ENOTSUP, REQ_FAULT_OTHER, false,
			  "the store does not know this operation");
		break;
	default:
		fault_set(req, -EPROTO, REQ_FAULT_OTHER, false,
			  "the server answered with a status that makes no sense here");
	}
}

static int fault_code_element(void *user, const char *path, const char *text)
{
	struct http_answer *a = user;
	size_t n = strlen(text);

	if (strcmp(path, "Error/Code") == 0 && n < sizeof(a->code))
		memcpy(a->code, text, n + 1);
	return 0;
}

/* "<Error><Code>…" */
static void fault_find_code(struct http_slot *s)
{
	struct http_answer *a = &s->exchange.answer;
	struct xml *x;

	if (a->code[0] || !s->text_used || s->text[0] != '<' ||
	    xml_open(&x, fault_code_element, a) < 0)
		return;
	xml_feed(x, s->text, s->text_used);
	xml_close(x);
}

/* Seconds by which the server's clock is ahead of this machine's. */
static int64_t fault_clock_ahead(int64_t date)
{
	return date - (int64_t)(clock_utc_ns() / NS_PER_S);
}

/* Whether a signature was refused for its time. Azure has no code of its own for that, but the
 * refusal has a date. It is compared with this machine's clock, not with what has been learnt:
 * other requests were signed before that. */
static bool fault_for_time(const char *code, int64_t date)
{
	if (strcasecmp(code, "RequestTimeTooSkewed") == 0)
		return date;
	return date && strcasecmp(code, "AuthenticationFailed") == 0 &&
	       llabs(fault_clock_ahead(date)) > FAULT_SKEW_MAX_S;
}

/* Whether another signature can help: by the right clock, or with keys that have not expired. */
static bool fault_mend(struct http_slot *s, const char *code)
{
	struct http_channel *ch = s->channel;
	int64_t date = answer_date(&s->exchange.answer);
	unsigned status = s->exchange.answer.status;
	/* Azurite refuses a token that expired on its way with the code of a wrong signature. */
	bool past = status == 403 && credentials_past(&s->used);
	bool expired = past || strcasecmp(code, "ExpiredToken") == 0 || status == 401;

	if (fault_for_time(code, date)) {
		atomic_store(&ch->store->skew, fault_clock_ahead(date));
		fault_set(s->req, -EACCES, REQ_FAULT_DENIED, s->req->answer.attempts <= 2,
			  "the clocks of this machine and the store differ too much");
		return true;
	}
	if (expired && (past || s->req->answer.attempts <= 2) &&
	    credentials_expired(&ch->store->credentials, &ch->credentials, &s->used)) {
		fault_set(s->req, -EACCES, REQ_FAULT_DENIED, true, "the credentials have expired");
		return true;
	}
	if (expired) {
		fault_set(
			s->req, -EACCES, REQ_FAULT_DENIED, false,
			"the credentials have expired or are missing, and there are no newer ones");
		return true;
	}
	return false;
}

/* Whether a store has refused to list parts because it knows no such request, and not for what it
 * says itself. */
static bool fault_no_parts(const struct http_slot *s, bool known)
{
	unsigned status = s->exchange.answer.status;

	return status == 405 || status == 501 || s->req->answer.status == -EPROTO ||
	       (!known && s->channel->store->dialect->begins && (status == 400 || status == 404));
}

void fault_of_answer(struct http_slot *s)
{
	struct http_answer *a = &s->exchange.answer;
	const struct code_meaning *m;
	uint64_t retry_after_s;

	fault_find_code(s);
	retry_after_s = answer_retry_after(a);
	if (retry_after_s > FAULT_RETRY_AFTER_MAX_S)
		retry_after_s = FAULT_RETRY_AFTER_MAX_S;
	s->req->answer.retry_after_ns = retry_after_s * NS_PER_S;
	if (fault_mend(s, a->code))
		return;
	if (a->status / 100 == 3)
		fault_of_redirection(s);
	else
		fault_by_status(s->req, a->status);
	m = code_find(a->code);
	if (m)
		fault_set(s->req, m->status, m->fault, m->transient, m->why);
	if (m && m->status == -ENXIO && s->channel->store->dialect->begins &&
	    !s->channel->channel->store->constant)
		s->req->answer.why =
			"there is no such bucket; \"create_bucket\": true of the store makes one";
	if (s->step == STEP_PARTS && fault_no_parts(s, m != NULL))
		fault_set(s->req, -ENOTSUP, REQ_FAULT_OTHER, false,
			  sentence_keep(
				  &s->channel->store->sentences, "the store does not list parts",
				  "the store does not list the parts of an upload (status %u), so "
				  "it cannot be known whether all have come",
				  a->status));
	if (s->channel->store->dialect->explain)
		s->channel->store->dialect->explain(s);
}

void fault_of_key(struct http_slot *s, struct request_key *k, const char *code)
{
	static const struct code_meaning unknown = {"", -EIO, REQ_FAULT_SERVER, true,
						    "the store could not delete it"};
	const struct code_meaning *m = code_find(code);

	m = m ? m : &unknown;
	k->status = m->status;
	k->why = m->why;
	k->again = m->transient;
	if (m->status != -ENOENT &&
	    (!s->req->answer.fault || (m->transient && !s->req->answer.transient)))
		fault_set(s->req, m->status, m->fault, m->transient, m->why);
}

int fault_in_success(struct http_slot *s)
{
	struct request *req = s->req;
	const struct code_meaning *m;

	fault_find_code(s);
	if (!s->exchange.answer.code[0])
		return 0;
	m = code_find(s->exchange.answer.code);
	if (m)
		fault_set(req, m->status, m->fault, m->transient, m->why);
	else
		fault_set(req, -EIO, REQ_FAULT_SERVER, true,
			  "the answer holds an error, though its status says success");
	return req->answer.status;
}
