/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/certificate.h"

#include <arpa/inet.h>
#include <stddef.h>

bool certificate_expect(X509_VERIFY_PARAM *p, const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];

	if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1;
	X509_VERIFY_PARAM_set_hostflags(p, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
						   X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return X509_VERIFY_PARAM_set1_host(p, host, 0) == 1;
}

const char *certificate_refusal(long result)
{
	switch (result) {
	case X509_V_OK:
	case X509_V_ERR_UNSPECIFIED: /* the value until a certificate has been looked at */
		return NULL;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "the server's certificate has expired";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "the server's certificate is not valid yet";
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return CERTIFICATE_OTHER_HOST;
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return "no known CA signed the server's certificate; name its bundle with \"ca\"";
	default:
		return "the server's certificate is not accepted";
	}
}
