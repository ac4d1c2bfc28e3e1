/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/suites.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SUITE_FIRST "TLS_AES_128_GCM_SHA256"

enum { SUITES_BYTES = 512 };

void suites_prefer_short(SSL_CTX *tls)
{
	STACK_OF(SSL_CIPHER) *offered = SSL_CTX_get_ciphers(tls);
	char rest[SUITES_BYTES] = "", all[SUITES_BYTES + sizeof(SUITE_FIRST)];
	bool has_first = false;
	size_t n = 0;

	for (int i = 0; i < sk_SSL_CIPHER_num(offered); i++) {
		const SSL_CIPHER *c = sk_SSL_CIPHER_value(offered, i);
		const char *name = SSL_CIPHER_get_name(c);

		if (strcmp(SSL_CIPHER_get_version(c), "TLSv1.3") != 0)
			continue;
		if (strcmp(name, SUITE_FIRST) == 0)
			has_first = true;
		else if (n + strlen(name) + 1 < sizeof(rest))
			n += (size_t)sprintf(rest + n, ":%s", name);
	}
	if (!has_first)
		return;
	snprintf(all, sizeof(all), "%s%s", SUITE_FIRST, rest);
	SSL_CTX_set_ciphersuites(tls, all);
}
