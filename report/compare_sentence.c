/* Sentences of a comparison: verdicts in plain words. */
#include <math.h>

#include "report/compare.h"
#include "report/say.h"

#define SAY(sentence, ...) say(sentence, COMPARE_SENTENCE_BYTES, __VA_ARGS__)

/* Decimals that show by how much a factor differs from 1: at least two. */
static int compare_decimals(double factor)
{
	double beyond = fabs(factor - 1);
	int n = beyond > 0 ? 1 - (int)floor(log10(beyond)) : 2;

	return factor >= 100 ? 0 : n < 2 ? 2 : n > 5 ? 5 : n;
}

/* "A is 1.35 times as fast as B (1.31 to 1.39)". The faster one comes first. */
static void compare_say_faster(char sentence[COMPARE_SENTENCE_BYTES], const struct comparison *c,
			       const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];
	bool less = compare_metrics[pair->metric].less_is_better;
	double times = less ? 1 / r->ratio : r->ratio, low = less ? 1 / r->high : r->low,
	       high = less ? 1 / r->low : r->high;
	const char *first = c->sides[0].letter, *second = c->sides[pair->side].letter;
	int places;

	if (times < 1) {
		double swapped = low;

		first = c->sides[pair->side].letter;
		second = c->sides[0].letter;
		times = 1 / times;
		low = 1 / high;
		high = 1 / swapped;
	}
	places = compare_decimals(times);
	SAY(sentence, "%s is %.*f times as fast as %s", first, places, times, second);
	if (ratio_is_vague(r))
		SAY(sentence, " (%g to %g, or wider: there are too few repeats)", RATIO_VAGUE_LEAST,
		    RATIO_VAGUE_MOST);
	else if (isfinite(low) && isfinite(high))
		SAY(sentence, " (%.*f to %.*f)", places, low, places, high);
}

/* What a drift of all values means for speed. */
static void compare_drift(char sentence[COMPARE_SENTENCE_BYTES], const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];
	double faster = compare_metrics[pair->metric].less_is_better ? 1 / r->drift : r->drift;

	if (!isfinite(r->drift) || (r->paired && fabs(r->drift - 1) < 0.05))
		return;
	SAY(sentence, "From the first repeat to the last one, everything became %.0f %% %s",
	    fabs(faster - 1) * 100, faster > 1 ? "faster" : "slower");
	if (r->paired)
		SAY(sentence, ", which the comparison of pairs leaves out.\n");
	else
		SAY(sentence, ". The interval is widened by this drift, since the repeats were not "
			      "taken in turn: run them with --interleave.\n");
}

static void compare_basis(char sentence[COMPARE_SENTENCE_BYTES], const struct comparison *c,
			  const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];

	if (!r->paired && !r->widened && c->sides[0].file == c->sides[pair->side].file)
		SAY(sentence, "The repeats were not taken in turn, so what changed in "
			      "between counts as a difference: run them with "
			      "--interleave.\n");
	compare_drift(sentence, pair);
}

const char *compare_faster(const struct comparison *c, const struct compare_pair *pair)
{
	int verdict = pair->judged ? pair->ratios[pair->metric].verdict : 0;

	if (verdict && compare_metrics[pair->metric].less_is_better)
		verdict = -verdict;
	return verdict > 0 ? c->sides[0].letter : verdict < 0 ? c->sides[pair->side].letter : NULL;
}

void compare_sentence(char sentence[COMPARE_SENTENCE_BYTES], const struct comparison *c,
		      const struct compare_pair *pair)
{
	const struct ratio *r = &pair->ratios[pair->metric];
	const char *a = c->sides[0].letter, *b = c->sides[pair->side].letter;

	sentence[0] = '\0';
	if (pair->metric == COMPARE_METRICS) {
		SAY(sentence, "%s and %s have no figure in common.\n", a, b);
		return;
	}
	if (!pair->judged) {
		SAY(sentence, "Not judged, since ");
		SAY(sentence, "%s ran only once: ",
		    pair->line[1]->repeats > 1   ? a
		    : pair->line[0]->repeats > 1 ? b
						 : "each");
		compare_say_faster(sentence, c, pair);
		SAY(sentence, ". Repeats show whether that is chance (--repeat 5).\n");
		return;
	}
	if (r->verdict == 0)
		SAY(sentence, "%s and %s are not shown to differ: ", a, b);
	compare_say_faster(sentence, c, pair);
	SAY(sentence, ".\n");
	compare_basis(sentence, c, pair);
}
