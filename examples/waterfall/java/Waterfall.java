/** A check that leaks its progress: every letter that is right leads one branch further, and behind the last is a fault. */
public class Waterfall {
	public static int check(byte[] word) {
		if (word.length < 7 || word[0] != 'h')
			return 0;
		if (word[1] != 'o')
			return 1;
		if (word[2] != 't')
			return 2;
		if (word[3] != 'c')
			return 3;
		if (word[4] != 'e')
			return 4;
		if (word[5] != 'l')
			return 5;
		if (word[6] != 'l')
			return 6;
		return word[word.length]; /* one too far */
	}
}
