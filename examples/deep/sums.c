/* Sums with brackets and signs, "-(1+2)": a level a call, so that a long row of brackets is more than the stack takes. */
#include <stddef.h>

struct sum {
	const char *at, *end;
	int bad;
};

static long expression(struct sum *sum);

static long term(struct sum *sum)
{
	long value = 0;

	if (sum->at < sum->end && *sum->at == '-') {
		sum->at++;
		return (long)-(unsigned long)term(sum);
	}
	if (sum->at < sum->end && *sum->at == '(') {
		sum->at++;
		value = expression(sum);
		if (sum->at == sum->end || *sum->at != ')')
			sum->bad = 1;
		else
			sum->at++;
		return value;
	}
	while (sum->at < sum->end && *sum->at >= '0' && *sum->at <= '9')
		value = (long)((unsigned long)value * 10 + (unsigned long)(*sum->at++ - '0'));
	return value;
}

static long expression(struct sum *sum)
{
	long value = term(sum);

	while (!sum->bad && sum->at < sum->end && *sum->at == '+') {
		sum->at++;
		value = (long)((unsigned long)value + (unsigned long)term(sum));
	}
	return value;
}

long parse(const char *text, size_t len)
{
	struct sum sum = {text, text + len, 0};
	long value = expression(&sum);

	return sum.bad || sum.at != sum.end ? -1 : value;
}
