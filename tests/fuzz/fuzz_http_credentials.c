/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parsers of credentials with any text: a shared file, metadata, tokens, a connection
 * string, a shared access signature. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/auth/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct azure_connection connection;
	static struct credentials c;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	credentials_parse_aws(text, size, &c);
	credentials_parse_token(text, size, 0, &c);
	credentials_sas_end(text);
	if (credentials_parse_profile(text, "default", &c) == 0 && (!c.key[0] || !c.secret[0]))
		abort();
	memcpy(text, data, size);
	if (credentials_parse_connection(text, &connection) == 0 && !connection.endpoint[0])
		abort();
	free(text);
	return 0;
}
