#!/bin/sh
# Builds C and C++, inside a cell. What is named may need other files of its project: headers that no -I leads to, and sources
# that define what it calls. They are found by what the compiler and the linker miss, so that only what is needed is built, and
# a project needs no build of its own.
#
#	c_build.sh PROJECT COMPILER WORD...
#
# PROJECT is the folder that is looked through; empty: none is. The words are the compiler's, and have -o OUT. What was found is left in a list, for other builds of the same target.
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
most=500 each=25 end=$(($(date +%s) + 240))
rm -rf "$parts"
mkdir -p "$parts"
: >"$parts/defined"
: >"$parts/failed"

# ---- the words ----

quoted() { printf " '%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }

flags='' of_c='' of_cxx='' link='' include='' out='' named='' objects='' linker=$compiler
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2 && shift ;;
	-std=*++*) of_cxx=$of_cxx$(quoted "$1") ;;
	-std=* | -Werror=implicit-function-declaration) of_c=$of_c$(quoted "$1") ;;
	-l* | -L* | -Wl,*) link=$link$(quoted "$1") ;;
	-*) flags=$flags$(quoted "$1") ;;
	*.c | *.cc | *.cpp | *.cxx) named="$named$1
" ;;
	*) objects=$objects$(quoted "$1") ;;
	esac
	shift
done

# ---- compiling ----

# The nearest folder from which the header that is missing is found; behind all others, so that it hides nothing of the system's.
find_header() {
	header=$(sed -n "s/.*fatal error: '\([A-Za-z0-9_./+-]*\)' file not found.*/\1/p" "$log" | head -n 1)
	case $header in '' | /* | *../*) return 1 ;; esac
	header=${header#./}
	path=$(find "$project" -type f -path "*/$header" | awk '{ print length, $0 }' | sort -n | head -n 1 | cut -d ' ' -f 2-)
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

# Names that an object has for others: what two objects have twice does not link.
names() { nm --defined-only -g "$1" | awk '$2 ~ /[TDBRGS]/ { print $3 }' | sort -u; }

take() { # OBJECT
	objects=$objects$(quoted "$1")
	names "$1" | sort -u -o "$parts/defined" - "$parts/defined"
}

# Of a file of the project, once; a main of its own is nobody's. WHY: the name that it was looked at for.
compile_source() { # SOURCE WHY
	sum=$(printf %s "$1" | cksum | tr ' ' _) object=$parts/$sum.o
	if [ ! -e "$object" ]; then
		[ "$(find "$parts" -name '*.o' | wc -l)" -lt "$most" ] && [ "$(date +%s)" -lt "$end" ] || return 1
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

# Whether the object that was compiled last defines NAME, and fits to what is there.
fits() {
	names "$object" >"$parts/names"
	grep -qxF -- "$1" "$parts/names" && ! grep -qxF LLVMFuzzerTestOneInput "$parts/names" &&
		[ -z "$(comm -12 "$parts/names" "$parts/defined")" ]
}

# ---- what is missing ----

# Sources in which a word stands: those where a line begins with it, or with its type, first, tests last, near ones before others.
sources_with() {
	grep -rlw --include='*.c' --include='*.cc' --include='*.cpp' --include='*.cxx' --exclude-dir='.*' -e "$1" "$project" |
		while IFS= read -r file; do
			rank=2
			grep -qE "^([A-Za-z_].*[^A-Za-z0-9_])?$1([^A-Za-z0-9_]|$)" "$file" && rank=1
			case $file in *test* | *example* | *bench* | *fuzz*) rank=$((rank + 2)) ;; esac
			printf '%s %s %s\n' "$rank" "${#file}" "$file"
		done | sort -n -k 1,1 -k 2,2 | head -n "$each" | cut -d ' ' -f 3-
}

missing() { sed -n "s/.*undefined reference to [\`']\([^']*\)'.*/\1/p; s/.*undefined symbol: //p" "$parts/linking" | sort -u; }

# The word that a source has for a name of the linker's.
word_of() { printf '%s\n' "$1" | c++filt | sed 's/(.*//; s/<.*//; s/.*[^A-Za-z0-9_]//'; }

find_sources() {
	missing >"$parts/missing"
	found=1
	while IFS= read -r name; do
		grep -qxF -- "$name" "$parts/defined" && continue # by one that was found for another
		word=$(word_of "$name")
		[ -n "$word" ] || continue
		sources_with "$word" >"$parts/candidates"
		while IFS= read -r file; do
			compile_source "$file" "$name" && fits "$name" || continue
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
		echo "hotcell: in no other file of the project that could be compiled is $(missing | c++filt | head -n 5 | paste -s -d , -)" \
			"(a library is named by --cflag=-lNAME, a macro by --cflag=-DNAME)"
	} >&2
	exit 1
done
mv "$parts/sources" "$list"
rm -rf "$parts"
