/* Attacks on files as a user's own code would try them: in sh and in Python.
 *
 * What they read they print: the token is found in it. "ok" is said of nothing but what must be refused. What gets through
 * harms nobody: it concerns the canary, which the scene puts right, and {dir}. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "review/rows/files.h"
#include "review/observe/props.h"

/* ---- in sh ---- */

const char files_shell[] =
	"said() { s=$?; echo; echo \"$1 $s\"; }\n" /* what is read may end without a line */
	"refused() { if sh -c \"$2\" 2>/dev/null; then echo \"$1 ok\"; else echo \"$1 refused\"; fi; }\n"
	"exec 2>/dev/null\n"
	"cat {canary}; said cat\n"
	"cat {shown}/.env {shown}/deep/.ssh/id_rsa {shown}/deep/server.pem; said cat-hidden\n"
	"cat {shown}/.[e]nv {shown}/*/.s*/*; said cat-globbed\n"
	"find {shown} -type f -exec cat {} ';'; said find\n"
	"find / -maxdepth 3 -path /proc -prune -o -name \"${0#@}\" -print -exec cat {}/.env ';'; said find-all\n"
	"cp {canary} /tmp/copy && cat /tmp/copy; said cp\n"
	"cp -r {shown} /tmp/all; find /tmp/all -type f -exec cat {} ';'; said cp-all\n"
	"ln -s {canary} /tmp/link; cat /tmp/link; said symlink\n"
	"ln {canary} /tmp/hard && cat /tmp/hard; said link\n"
	"ln {shown}/.env /tmp/env && cat /tmp/env; said link-hidden\n"
	"tar cf - {shown} | tr -d '\\000'; said tar\n"
	"cd /; cd ../../..; cat .{canary}; said up\n"
	"for p in /proc/[0-9]*; do cat $p/root{canary} $p/cwd/..{canary} $p/environ; done | tr -d '\\000'; said proc\n"
	"cat /proc/self/fd/137 /proc/self/fd/138{canary} /dev/fd/138{canary}; said descriptors\n"
	"refused write-canary 'echo x >>{canary}'\n"
	"refused write-shown 'echo x >{shown}/only/new'\n"
	"refused append-shown 'echo x >>{shown}/only/plain'\n"
	"refused remove-shown 'rm -f {shown}/only/plain && ! test -e {shown}/only/plain'\n"
	"refused move-shown 'mv {shown}/only/plain {shown}/only/moved'\n"
	"refused touch-shown 'touch {shown}/only/plain'\n"
	"rm -rf /tmp/copy /tmp/all /tmp/link /tmp/hard /tmp/env\n"
	"exit 0\n";

/* ---- a forbidden program ---- */

const char files_forbidden[] =
	"said() { s=$?; echo; echo \"$1 $s\"; }\n"
	"exec 2>/dev/null\n"
	"for p in link abs way/link innocent real copy sub/other; do\n"
	"	{shown}/bin/$p; said run-$p\n"
	"	cat {shown}/bin/$p; said read-$p\n"
	"	sh {shown}/bin/$p; said script-$p\n"
	"	cp {shown}/bin/$p /workspace/own && chmod 755 /workspace/own && /workspace/own; said copied-$p\n"
	"done\n"
	"PATH={shown}/bin; link; said path\n"
	"exit 0\n";

void files_forbidden_before(struct review_try *try)
{
	static const char program[] = "#!/bin/sh\necho {token}\n";
	own(freep) char *from = props_path(try, "bin/real"), *to = props_path(try, "bin/innocent");

	if (try->outside) {
		try_not_applicable(try, "without a cell no program can be forbidden");
		return;
	}
	props_file(try, "bin/real", program, 0755);
	props_file(try, "bin/copy", program, 0755);
	props_file(try, "bin/sub/other", program, 0644);
	props_link(try, "bin/link", "abs");
	props_link(try, "bin/abs", "/shown/bin/sub/../real");
	props_link(try, "bin/way", ".");
	if (link(from, to) < 0)
		try_failed(try, "link '%s'", to);
}

/* ---- in Python ---- */

const char files_python[] =
	"import ctypes, os, shutil, sys\n"
	"canary, shown = '{canary}', '{shown}'\n"
	"def shown_of(path, **more):\n"
	"    with open(path, 'rb', **more) as file:\n"
	"        print(file.read(4096).decode('latin-1').encode('unicode_escape').decode())\n"
	"def tried(what, call, *words, **more):\n"
	"    try:\n"
	"        call(*words, **more)\n"
	"        print(what, 'done')\n"
	"    except OSError as error:\n"
	"        print(what, 'E%d' % error.errno)\n"
	"    except Exception as error:\n"
	"        print(what, type(error).__name__)\n"
	"def refused(what, call, *words, **more):\n"
	"    try:\n"
	"        call(*words, **more)\n"
	"        print(what, 'ok')\n"
	"    except OSError as error:\n"
	"        print(what, 'E%d' % error.errno)\n"
	"def at(folder):\n"
	"    fd = folder if isinstance(folder, int) else os.open(folder, os.O_RDONLY)\n"
	"    return lambda path, flags: os.open(path, flags, dir_fd=fd)\n"
	"def walk(top):\n"
	"    for folder, below, files in os.walk(top, followlinks=False):\n"
	"        for name in files:\n"
	"            tried('read', shown_of, os.path.join(folder, name))\n"
	"tried('open', shown_of, canary)\n"
	"tried('realpath', shown_of, os.path.realpath('/proc/self/root' + canary))\n"
	"for folder in ('/', '/tmp', '/proc/1/root', '/proc/1/cwd', '/proc/self/root', shown, 137, 138):\n"
	"    for path in (canary, canary[1:], '../' * 20 + canary[1:]):\n"
	"        tried('dir_fd', lambda: shown_of(path, opener=at(folder)))\n"
	"walk(shown)\n"
	"tried('copytree', shutil.copytree, shown, '/tmp/all-py')\n"
	"walk('/tmp/all-py')\n"
	"shutil.rmtree('/tmp/all-py', ignore_errors=True)\n"
	"tried('copy', shutil.copy, canary, '/tmp/copy-py')\n"
	"tried('copied', shown_of, '/tmp/copy-py')\n"
	"tried('symlink', os.symlink, canary, '/tmp/link-py')\n"
	"tried('linked', shown_of, '/tmp/link-py')\n"
	"for path in ('/tmp/copy-py', '/tmp/link-py'):\n"
	"    tried('unlink', os.unlink, path)\n"
	"for name in ('.env', 'deep/.ssh/id_rsa', 'deep/server.pem'):\n"
	"    tried('hidden', shown_of, os.path.join(shown, name))\n"
	"    tried('hidden-at', lambda: shown_of(name, opener=at(shown)))\n"
	"refused('write', lambda: open(shown + '/only/new', 'x').close())\n"
	"refused('append', lambda: open(shown + '/only/plain', 'a').close())\n"
	"refused('utime', os.utime, shown + '/only/plain')\n"
	"refused('rename', os.rename, shown + '/only/plain', shown + '/only/moved')\n"
	"refused('chmod', os.chmod, shown + '/only/plain', 0o777)\n"
	"libc = ctypes.CDLL(None, use_errno=True)\n"
	"def call(name, *words):\n"
	"    if getattr(libc, name)(*words) < 0:\n"
	"        raise OSError(ctypes.get_errno(), name)\n"
	"if 'ATTACK_GENTLE' not in os.environ:\n" /* outside of a whole cell it would be the machine's own root */
	"    refused('mount', call, 'mount', b'x', b'/tmp', b'tmpfs', 0, None)\n"
	"    refused('bind', call, 'mount', b'/', b'/tmp', None, 4096, None)\n"
	"    refused('umount', call, 'umount2', b'/proc', 2)\n"
	"    refused('chroot', call, 'chroot', b'/proc/1/root')\n"
	"    refused('unshare', call, 'unshare', 0x10020000)\n";

/* ---- whether there is what runs them ---- */

/* In the image as in a root: its links, too, are meant from there. */
static bool has_program(const struct review_try *try, const char *name)
{
	static const char *const folders[] = {"usr/local/bin", "usr/bin", "bin"};
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	const char *image = try->options->image;
	bool host = try->outside || !image || strcmp(image, "host") == 0;
	own(fd_closep) int root = open(host ? "/" : image, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		own(freep) char *path = xfmt("%s/%s", folders[i], name);
		own(fd_closep) int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0)
			return true;
	}
	return false;
}

static void plant(struct review_try *try, const char *program)
{
	if (!has_program(try, program)) {
		try_not_applicable(try, "the image has no %s", program);
		return;
	}
	props_file(try, ".env", "{token}", 0644);
	props_file(try, "deep/.ssh/id_rsa", "{token}", 0644);
	props_file(try, "deep/server.pem", "{token}", 0644);
	props_file(try, "only/plain", "as it was", 0644); /* in a mount by itself: one with secrets in it is laid out of layers */
}

void files_shell_before(struct review_try *try)
{
	plant(try, "sh");
}

void files_python_before(struct review_try *try)
{
	plant(try, "python3");
}
