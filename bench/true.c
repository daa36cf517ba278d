/* The smallest program there is with a C library. */
int main(void)
{
	return 0;
}
