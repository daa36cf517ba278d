#!/bin/sh
# Builds C and C++, inside a cell. What is named may need other files of its project: headers that no -I leads to, and sources
# that define what it calls. They are found by what the compiler and the linker miss, so that only what is needed is built, and
# a project needs no build of its own.
#
#	c_build.sh PROJECT COMPILER WORD...
#
# PROJECT is the folder that is looked through; empty: none is. The words are the compiler's, and have -o OUT. What was found is
# left in a list, for other builds of the same target.
export LC_ALL=C
project=$1 compiler=$2 list=/fuzz/also_of_hotcell parts=/fuzz/parts_of_hotcell log=/fuzz/log_of_hotcell
shift 2
if [ ! -e "$list" ]; then
	"$compiler" "$@" 2>"$log" && exit
	[ -n "$project" ] && grep -qE 'undefined reference to|undefined symbol|file not found' "$log" || {
		cat "$log" >&2
		exit 1
	}
fi
most=500 each=100 end=$(($(date +%s) + 240))
rm -rf "$parts"
mkdir -p "$parts"
: >"$parts/defined"
: >"$parts/failed"
: >"$parts/hints"

# ---- the words ----

quoted() { printf " '%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }

limited='' flags='' of_c='' of_cxx='' link='' include='' out='' named='' objects='' linker=$compiler
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2 && shift ;;
	-I | -D | -U | -include | -imacros | -isystem | -iquote | -idirafter | -Xclang | -mllvm | -target | --param)
		flags=$flags$(quoted "$1")$(quoted "$2") && shift
		;;
	-l | -L | -u | -T | -Xlinker) link=$link$(quoted "$1")$(quoted "$2") && shift ;;
	-std=*++*) of_cxx=$of_cxx$(quoted "$1") ;;
	-std=* | -Werror=implicit-function-declaration) of_c=$of_c$(quoted "$1") ;;
	-l* | -L* | -Wl,*) link=$link$(quoted "$1") ;;
	-*) flags=$flags$(quoted "$1") ;;
	*.c | *.cc | *.cpp | *.cxx) named="$named$1
" ;;
	*) link=$link$(quoted "$1") ;; # archives come behind what needs them
	esac
	shift
done

# ---- compiling ----

# Other systems' and tests come last.
rank() {
	case $1 in
	*[Tt]est* | *[Ee]xample* | *[Bb]ench* | *fuzz*) echo 3 ;;
	*[Ww]in32* | */win/* | *[Ww]indows* | *msvc* | *msdos* | *[Mm]ac[Oo][Ss]*) echo 2 ;;
	*) echo 1 ;;
	esac
}

# A folder from which the header that is missing is found, the one with the shortest name; behind all others, so that it hides
# nothing of the system's.
find_header() {
	header=$(sed -n "s/.*fatal error: '\([A-Za-z0-9_./+-]*\)' file not found.*/\1/p" "$log" | head -n 1)
	case $header in '' | /* | *../*) return 1 ;; esac
	header=${header#./}
	path=$(find "$project" \( -type f -o -type l \) -path "*/$header" |
		while IFS= read -r file; do [ -f "$file" ] && echo "$(rank "${file#"$project"}") ${#file} $file"; done |
		sort -n -k 1,1 -k 2,2 | head -n 1 | cut -d ' ' -f 3-)
	[ -n "$path" ] || return 1
	word=$(quoted "-idirafter${path%/"$header"}")
	case $include in *"$word"*) return 1 ;; esac
	include=$include$word
}

# SOURCE OBJECT MORE: C as C, whatever needs it.
compile() {
	case $1 in
	*.c) by=${compiler%++} std=$of_c ;;
	*) by=${compiler%++}++ std=$of_cxx linker=$by ;;
	esac
	until eval "$by$flags$std$include$3 -c -o '$2'$(quoted "$1")" 2>"$log"; do
		find_header || return 1
	done
}

# Names that an object has for others; of the KIND that two objects cannot both have, or of any.
strong=TDBRGS any=TDBRGSVWCui
names() { nm --defined-only -g "$2" | awk -v kinds="$1" 'index(kinds, $2) { print $3 }' | sort -u; }

take() { # OBJECT
	objects=$objects$(quoted "$1")
	names $strong "$1" | sort -u -o "$parts/defined" - "$parts/defined"
}

# Of a file of the project, once; a main of its own is nobody's. WHY: the name that it was looked at for.
compile_source() { # SOURCE WHY
	sum=$(printf %s "$1" | cksum | tr ' ' _) object=$parts/$sum.o
	if [ ! -e "$object" ]; then
		[ "$(find "$parts" -name '*.o' | wc -l)" -lt "$most" ] && [ "$(date +%s)" -lt "$end" ] || {
			limited=1
			return 1
		}
		compile "$1" "$object" " -Dmain=hotcell_main_$sum" || {
			: >"$object" # not tried again
			{
				echo "hotcell: $1 was looked at for $2, and cannot be compiled:"
				head -n 12 "$log"
			} >>"$parts/failed"
		}
	fi
	[ -s "$object" ]
}

# Whether the object that was compiled last, of SOURCE, defines NAME, and fits to what is there.
fits() {
	names $any "$object" >"$parts/any"
	names $strong "$object" >"$parts/strong"
	[ "$2" = "$word" ] || ! grep -qxF -- "$word" "$parts/any" ||
		echo "hotcell: $1 has $word as a function of C: declare it with extern \"C\"" >>"$parts/hints"
	grep -qxF -- "$2" "$parts/any" && ! grep -qxF LLVMFuzzerTestOneInput "$parts/any" &&
		[ -z "$(comm -12 "$parts/strong" "$parts/defined")" ]
}

# ---- what is missing ----

# Sources in which a word stands: those that seem to define it first, near ones before others. Hidden folders are left alone.
sources_with() {
	(cd "$project" && grep -rlw --include='*.c' --include='*.cc' --include='*.cpp' --include='*.cxx' --exclude-dir='.?*' -e "$1" .) |
		while IFS= read -r file; do
			file=$project/${file#./} like=1
			grep -E "^([A-Za-z_][A-Za-z0-9_ 	*&:<>,]*[^A-Za-z0-9_])?$1([^A-Za-z0-9_]|$)" "$file" |
				grep -qvE '^extern |\(.*;[[:space:]]*$' && like=0
			echo "$like $(rank "${file#"$project"}") ${#file} $file"
		done | sort -n -k 1,1 -k 2,2 -k 3,3 | cut -d ' ' -f 4-
}

missing() { sed -n "s/.*undefined reference to [\`']\([^']*\)'.*/\1/p; s/.*undefined symbol: //p" "$parts/linking" | sort -u; }

# The word that a source has for a name of the linker's.
word_of() {
	printf '%s\n' "$1" | c++filt |
		sed 's/\[abi:[^]]*\]//g; s/.*operator[^A-Za-z0-9_].*/operator/; s/(.*//; s/<.*//; s/.*[^A-Za-z0-9_]//'
}

find_sources() {
	missing >"$parts/missing"
	found=1
	while IFS= read -r name; do
		grep -qxF -- "$name" "$parts/defined" && continue # by one that was found for another
		word=$(word_of "$name")
		[ -n "$word" ] || continue
		sources_with "$word" >"$parts/all"
		head -n "$each" "$parts/all" >"$parts/candidates"
		cmp -s "$parts/all" "$parts/candidates" || limited=1
		while IFS= read -r file; do
			compile_source "$file" "$word" && fits "$file" "$name" || continue
			take "$object"
			echo "$file" >>"$parts/sources"
			found=0
			break
		done <"$parts/candidates"
	done <"$parts/missing"
	return "$found"
}

# ---- all of it ----

number=0
printf %s "$named" >"$parts/named"
while IFS= read -r file; do
	number=$((number + 1)) object=$parts/named-$number.o
	compile "$file" "$object" '' || {
		cat "$log" >&2
		exit 1
	}
	take "$object"
done <"$parts/named"
: >"$parts/sources"
if [ -e "$list" ]; then
	while IFS= read -r file; do
		compile_source "$file" "another build" && take "$object" && echo "$file" >>"$parts/sources"
	done <"$list"
fi
until eval "$linker$flags -Wl,--no-demangle -o$(quoted "$out")$objects$link" 2>"$parts/linking"; do
	find_sources && continue
	{
		c++filt <"$parts/linking"
		head -n 30 "$parts/failed"
		sort -u "$parts/hints" | head -n 5
		echo "hotcell: looked through $project: no other file that ${limited:+was tried and }could be compiled has" \
			"$(missing | c++filt | head -n 5 | paste -s -d , -)" \
			"(a file or a library is named by --cflag=FILE or --cflag=-lNAME${limited:+; there are too many to try all})"
	} >&2
	exit 1
done
mv "$parts/sources" "$list"
rm -rf "$parts"
