# Builds a Rust target in a cell, beside its harness:  build.sh            -> /fuzz/harness, with libFuzzer
#                                                      build.sh serve      -> /fuzz/harness, which is called with documents
#                                                      build.sh cover DIR  -> /fuzz/coverage.info, of the files of DIR
# What is asked for stands in target.sh: file, manifest (the folder of its Cargo.toml, or "-"), root (the first file of its
# crate, or "lib"), made (the file is ours, changed: what calls the function is put into it), sanitizer.
set -eu
work=/fuzz own=/fuzz
mode=${1:-fuzz}
. $work/target.sh
export RUSTC_BOOTSTRAP=1 HOME=/tmp TMPDIR=/tmp
build=$work/build/$mode with_documents=""
mkdir -p "$build"
say() { echo "$*" >&2; }

# A library of clang's own: its folder has had two forms.
runtime() {
	local folder each
	folder=$(clang -print-resource-dir)/lib
	for each in "$folder/linux/libclang_rt.$1-${host%%-*}.a" "$folder"/*/libclang_rt.$1.a; do
		[ ! -e "$each" ] || { echo "$each"; return; }
	done
}

has_address() {
	ls "$(rustc --print sysroot)"/lib/rustlib/*/lib/librustc*_rt.asan.a >/dev/null 2>&1 || {
		say "this toolchain has no AddressSanitizer for Rust: rustup's have, Debian's has not;" \
			"leave out --sanitizer address"
		exit 1
	}
}

host=$(rustc -vV | sed -n 's/^host: //p')
flags="-Cdebuginfo=1 -Ccodegen-units=1 -Cpanic=unwind -Cdebug-assertions=on -Coverflow-checks=on"
flags="$flags --remap-path-prefix=$work/src=/target"
if [ "$mode" = cover ]; then
	flags="$flags -Copt-level=1 -Cinstrument-coverage --cfg hotcell_cover"
	link=""
	out=$build/measured
	# The tools must know what this compiler writes: its own, or those of its LLVM's version. Debian's has no runtime for it;
	# clang's is the same.
	major=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p') tools=""
	for each in "$(rustc --print sysroot)/lib/rustlib/$host/bin" "/usr/lib/llvm-$major/bin"; do
		[ ! -x "$each/llvm-cov" ] || tools=${tools:-$each}
	done
	[ -n "$tools" ] || {
		say "coverage of Rust needs llvm-cov of LLVM $major: rustup component add llvm-tools, or apt-get install llvm-$major"
		exit 1
	}
	if ! ls "$(rustc --print sysroot)/lib/rustlib/$host/lib"/libprofiler_builtins*.rlib >/dev/null 2>&1; then
		flags="$flags -Zno-profiler-runtime"
		link="-Clinker=clang -Clink-arg=$(runtime profile) -Clink-arg=-lc"
	fi
elif [ "$mode" = serve ]; then
	with_documents="--cfg hotcell_document"
	export HOTCELL_DOCUMENT=yes # what derives reads it
	flags="$flags -Copt-level=1 $with_documents"
	link="-Clinker=clang -Clink-arg=-fsanitize=undefined" # its runtime tells where a signal ended it
	if [ "$sanitizer" = address ]; then
		flags="$flags -Zsanitizer=address"
		link="-Clinker=clang"
		has_address
	fi
	out=$work/harness
else
	flags="$flags -Copt-level=3 -Clink-dead-code -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
	for each in inline-8bit-counters pc-table trace-compares; do
		flags="$flags -Cllvm-args=-sanitizer-coverage-$each"
	done
	link="-Clinker=clang -Clink-arg=-fsanitize=fuzzer,undefined -Clink-arg=-Wl,-u,LLVMFuzzerInitialize"
	if [ "$sanitizer" = address ]; then
		flags="$flags -Zsanitizer=address"
		# clang's own flag brings another sanitizer's runtime, which is not the same
		link="-Clinker=clang -Clink-arg=-Wl,--whole-archive,$(runtime fuzzer),--no-whole-archive -Clink-arg=-lstdc++ -Clink-arg=-lm"
		link="$link -Clink-arg=-Wl,-u,LLVMFuzzerInitialize"
		has_address
	fi
	out=$work/harness
fi

# The target's folder by links, but for the file that is ours: what leads to it are folders of ours.
tree() {
	rm -rf $work/src
	mkdir -p $work/src
	local at="" part left=$file each name
	while :; do
		part=${left%%/*}
		for each in "/target$at"/* "/target$at"/.[!.]*; do
			name=${each##*/}
			case $name in "$part" | Cargo.lock | target) continue ;; esac
			[ ! -e "$each" ] || ln -s "$each" "$work/src$at/$name"
		done
		[ "$part" != "$left" ] || break
		at=$at/$part
		left=${left#*/}
		mkdir -p "$work/src$at"
	done
	if [ $made = yes ]; then cp $work/made.rs "$work/src/$file"; else ln -s "/target/$file" "$work/src/$file"; fi
}

derives() { grep -qE 'derive\(.*Arbitrary' "/target/$file" && echo yes || echo no; }

# One file and nothing else: no cargo.
alone() {
	local with=""
	cd "$build"
	if [ "$(derives)" = yes ]; then
		rustc --edition 2021 --crate-type proc-macro --crate-name derive_arbitrary $own/rust_derive.rs
		with="--cfg hotcell_derive --extern derive_arbitrary=$build/libderive_arbitrary.so"
	fi
	rustc --edition 2021 --crate-type rlib --crate-name arbitrary --cap-lints allow -Copt-level=1 -Cpanic=unwind \
		$with $with_documents $own/rust_arbitrary.rs
	rustc --edition 2021 --crate-type rlib --crate-name libfuzzer_sys --cap-lints allow $(plain_flags) -L . \
		--extern arbitrary=libarbitrary.rlib $own/rust_harness.rs
	rustc --edition 2021 --crate-type bin --crate-name "$(name)" --cap-lints allow -Zcrate-attr=no_main $flags $link -L . \
		--extern libfuzzer_sys=liblibfuzzer_sys.rlib --extern arbitrary=libarbitrary.rlib -o $out "$work/src/$file"
}

# The harness's own code is not what is measured.
plain_flags() {
	echo "-Copt-level=1 -Cpanic=unwind -Ccodegen-units=1"
	[ "$mode" != cover ] || echo "--cfg hotcell_cover"
	echo "$with_documents"
}

name() {
	local stem=${file##*/}
	stem=$(printf %s "${stem%.rs}" | tr -c 'a-zA-Z0-9' _)
	case $stem in [0-9]*) echo "_$stem" ;; *) echo "$stem" ;; esac
}

# Crates that a cell can have: ours, the project's vendor folder, and what cargo has fetched before.
packages() {
	local folder=$build/packages each name
	rm -rf "$folder"
	mkdir -p "$folder"
	for each in /target/vendor/* "/target/$manifest"/vendor/* /packages/*/*; do
		name=${each##*/}
		case $name in libfuzzer-sys | arbitrary | derive_arbitrary) continue ;; esac
		case $name in libfuzzer-sys-[0-9]* | arbitrary-[0-9]* | derive_arbitrary-[0-9]*) continue ;; esac
		[ -e "$each/Cargo.toml" ] && [ ! -e "$folder/$name" ] || continue
		mkdir "$folder/$name"
		ln -s "$each"/* "$folder/$name/"
		echo '{"files":{}}' >"$folder/$name/.cargo-checksum.json"
	done
	package libfuzzer-sys 0.4.99 harness.rs '[features]
default = []
arbitrary-derive = ["arbitrary/derive"]
link_libfuzzer = []
[dependencies]
arbitrary = { version = "1" }'
	package arbitrary 1.99.0 arbitrary.rs '[features]
default = []
derive = ["derive_arbitrary"]
[dependencies]
derive_arbitrary = { version = "1", optional = true }'
	package derive_arbitrary 1.99.0 derive.rs '[lib]
proc-macro = true'
	sed -i 's/cfg(hotcell_derive)/cfg(feature = "derive")/' "$folder/arbitrary/src/lib.rs"
}

package() {
	local to=$build/packages/$1
	mkdir -p "$to/src"
	cp $own/rust_$3 "$to/src/lib.rs"
	cp $own/rust_document.rs "$to/src/"
	printf '[package]\nname = "%s"\nversion = "%s"\nedition = "2021"\n%s\n' "$1" "$2" "$4" >"$to/Cargo.toml"
	echo '{"files":{}}' >"$to/.cargo-checksum.json"
}

# The program of a package whose first file is this one.
bin_name() {
	local below=$root found
	[ "$manifest" = . ] || below=${root#"$manifest"/}
	found=$(awk -F'"' -v path="$below" '/^ *\[/ { name = at = "" } /^ *name *=/ { name = $2 } /^ *path *=/ { at = $2 }
		name != "" && at == path { print name; exit }' "/target/$manifest/Cargo.toml")
	case $found:$below in
	:src/main.rs)
		found=$(awk -F'"' '/^ *\[/ { own = /\[package\]/ } own && /^ *name *=/ { print $2; exit }' \
			"/target/$manifest/Cargo.toml")
		;;
	:*/main.rs) found=${below%/main.rs} ;;
	:*) found=${below%.rs} ;;
	esac
	echo "${found##*/}"
}

# What cargo calls for rustc: paths whole; and the crate that is wanted is not built but noted, to be built as a program
# with the engine when cargo has ended, which it does when what it depends on is there.
wrapper() {
	cat >"$build/rustc.sh" <<'END'
#!/bin/sh
rustc=$1
shift
count=$# root=""
for each in "$@"; do
	case $each in *.rs) root=$each ;; esac
done
case $root in "" | /*) ;; *) root=$PWD/$root ;; esac
wanted=no
[ "$root" = "$HOTCELL_ROOT_FILE" ] && wanted=yes
[ "$HOTCELL_ROOT_FILE" = lib ] && [ "${CARGO_MANIFEST_DIR:-}" = "$HOTCELL_MANIFEST" ] &&
	[ "${CARGO_CRATE_NAME:-}" != build_script_build ] && wanted=yes
case $root in */packages/libfuzzer-sys/src/lib.rs | */packages/arbitrary/src/lib.rs) ours=yes ;; *) ours=no ;; esac
caps=no
while [ $count -gt 0 ]; do
	each=$1
	shift
	count=$((count - 1))
	case $each in --cap-lints*) caps=yes ;; esac
	if [ $ours = yes ]; then # it is not what is to be explored
		case $each in -Cpasses=sancov* | -Cllvm-args=-sanitizer* | -Cinstrument-coverage) continue ;; esac
	fi
	if [ $wanted = yes ]; then
		case $each in
		--crate-type | --out-dir) shift; count=$((count - 1)); continue ;;
		--crate-type=* | --emit=* | --out-dir=* | --json=* | --error-format=*) continue ;;
		-C) case $1 in metadata=* | extra-filename=* | embed-bitcode=*) shift; count=$((count - 1)); continue ;; esac ;;
		*=*.rmeta) each=${each%.rmeta}.rlib ;;
		esac
	fi
	case $each in *.rs) each=$root ;; esac
	set -- "$@" "$each"
done
[ $ours = no ] || set -- "$@" -Copt-level=1
[ $wanted = yes ] || exec "$rustc" "$@"
[ $caps = yes ] || set -- "$@" --cap-lints allow
quoted() {
	for each in "$@"; do printf %s "$each" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/' /"; done
}
{
	export -p
	quoted cd "$PWD"
	printf '\n'
	quoted "$rustc" "$@"
} >"$HOTCELL_NOTE.part"
mv "$HOTCELL_NOTE.part" "$HOTCELL_NOTE"
exit 1
END
	chmod 755 "$build/rustc.sh"
}

with_cargo() {
	command -v cargo >/dev/null || { say "cargo is not there, and this is a package; to install it: apt-get install cargo"; exit 1; }
	local top=$work/src log=$build/log missing
	[ "$manifest" = . ] || top=$work/src/$manifest
	packages
	wrapper
	export CARGO_HOME=$build/home CARGO_TARGET_DIR=$build/target
	mkdir -p "$CARGO_HOME"
	printf '[source.crates-io]\nreplace-with = "cell"\n[source.cell]\ndirectory = "%s"\n' "$build/packages" \
		>"$CARGO_HOME/config.toml"
	if [ $made = yes ]; then # the line that calls the function needs our crate
		cp --remove-destination "/target/$manifest/Cargo.toml" "$top/Cargo.toml"
		grep -q '^ *libfuzzer-sys *=\|dependencies.libfuzzer-sys' "$top/Cargo.toml" ||
			printf '\n[dependencies.libfuzzer-sys]\nversion = "0.4"\n' >>"$top/Cargo.toml"
	fi
	export CARGO_PROFILE_DEV_PANIC=unwind CARGO_PROFILE_DEV_INCREMENTAL=false CARGO_PROFILE_DEV_LTO=off
	export HOTCELL_NOTE=$build/final.sh HOTCELL_MANIFEST=$top HOTCELL_ROOT_FILE=$work/src/$root
	export RUSTC_WRAPPER=$build/rustc.sh RUSTFLAGS=$flags
	[ "$root" != lib ] || HOTCELL_ROOT_FILE=lib
	cd /
	set -- --lib
	[ "$root" = lib ] || set -- --bin "$(bin_name)"
	cargo build --offline --quiet --target "$host" --manifest-path "$top/Cargo.toml" "$@" 2>"$log" || :
	if [ -e "$build/final.sh" ]; then
		printf '%s\n' "--crate-type bin -Zcrate-attr=no_main $link -o $out" >>"$build/final.sh"
		sh "$build/final.sh"
		return
	fi
	if grep -q 'no matching package' "$log"; then
		missing=$(sed -n 's/.*no matching package named `\([^`]*\)` found.*/\1/p' "$log" | head -n 1)
		say "the crate $missing is not here, and a cell has no network: 'cargo vendor' in the project," \
			"or 'cargo fetch', gets what it needs"
	fi
	cat "$log" >&2
	exit 1
}

cover() {
	rm -f "$build"/*.profraw
	LLVM_PROFILE_FILE=$build/%p.profraw $out "$1"
	"$tools/llvm-profdata" merge -sparse -o "$build/all.profdata" "$build"/*.profraw
	"$tools/llvm-cov" export -format=lcov -instr-profile "$build/all.profdata" $out /target >"$build/all.info"
	"$tools/llvm-cxxfilt" <"$build/all.info" >$work/coverage.info 2>/dev/null || cp "$build/all.info" $work/coverage.info
}

tree
if [ "$manifest" = - ]; then alone; else with_cargo; fi
if [ "$mode" = cover ]; then cover "$2"; else rm -rf "$work/build"; fi
