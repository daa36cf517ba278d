/* Names that carry secrets or history, by the tools that people use. What vanishes is the secret, not the tool's folder, wherever
 * programs need the rest of it. Every row is in docs/HIDDEN.md, which a test compares.
 *
 * "x" is a name in any folder, "a/b" the name b in any folder a, be it the mounted one itself; "!x" an exception from what comes before
 * it. Case does not count. What is added here costs users who need the file: names that sources commonly have are not taken. */
#include "cell/cell.h"

const char *const cell_default_hide[] = {
	/* version control: what was ever committed, and its credentials */
	".git", ".hg", ".svn", ".jj", ".bzr",
	/* our own: states, records and configuration */
	".hotcell", ".config/hotcell", ".local/state/hotcell", ".local/share/hotcell",
	/* environments; those that are written to be copied hold none */
	".env", ".env.*", "*.env", "*.env.local", ".envrc", ".dev.vars", ".dev.vars.*", "!.env.example", "!.env.*.example",
	"!.env.sample", "!.env.template", "!.env.dist", "!example.env", "!sample.env", "!template.env",
	/* keys and stores of keys */
	"*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.jceks", "*.bks", "*.keystore", "*.kdb", "*.kdbx", "*.ppk",
	"*.ovpn", "*.keytab", "*.agekey", "*.keychain-db", "krb5cc_*", "age/keys.txt", "ssh_host_*_key", "id_rsa*", "id_dsa*",
	"id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".password-store", ".keychain", ".local/share/keyrings", ".local/share/kwalletd",
	"Library/Keychains", "key.properties", "keystore.properties", "private-keys-v1.d", "secring.gpg", "wg[0-9]*.conf",
	"authtoken.secret", "insecure_private_key", ".vagrant/machines", ".step/secrets", ".android/adbkey", ".acme.sh", ".vnc/passwd",
	"tigervnc/passwd", ".config/borg/keys",
	/* secrets by their names */
	"credentials.json", "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "local.settings.json", ".htpasswd",
	".vault_pass*", ".vault-pass*", "client_secret*.json", "service-account*.json", "service_account*.json",
	"*firebase-adminsdk*.json", ".credentials.json", "gha-creds-*.json", ".ansible/vault_pass*", "cookies.txt", ".Renviron",
	/* secrets managers */
	".config/op", ".op", ".1password", ".config/Bitwarden CLI", ".config/Bitwarden", ".config/lpass", ".lpass", ".vault-token",
	".doppler", ".infisical", ".akeyless", ".tsh", ".awsvault", ".saml2aws", "keeper.ini", ".config/1Password", ".config/keepassxc",
	"wallet.dat", ".electrum", ".ethereum/keystore", ".foundry/keystores", ".near-credentials", "solana/id.json",
	/* shells, interpreters, databases, pagers and editors: what was typed */
	".*history", ".*history-*", ".*_history.*", ".*_hist", ".histfile", "fish_history", "lesshst", ".lesshst", ".viminfo",
	".nviminfo", "nvim/shada", ".ipython/profile_*/history.sqlite", "nushell/history.txt", "nushell/history.sqlite3",
	"atuin/history.db", "atuin/key", "mcfly/history.db", "repl_history.jl", "deno_history.txt", ".mongosh", ".dbshell", ".wget-hsts",
	".*history~", ".bash_sessions", ".zsh_sessions", "bash/history", "zsh/history", "less/history", "nano/search_history",
	"xonsh/history_json", "PSReadLine/*history.txt", "elvish/db.bolt", "pry_history", "ghci_history", "erlang-history",
	".lldb/*history", ".emacs.d/history", ".w3m/history", ".w3m/cookie", ".ollama/history", "nvim/undo", ".vim/undo",
	/* forges */
	".gitconfig", ".git-credentials", "git/credentials", ".netrc", "_netrc", "gh/hosts.yml", "glab-cli/config.yml", "tea/config.yml",
	".config/hub", ".config/git/config", ".gitcookies", ".hgrc", ".config/hg/hgrc", ".subversion/auth", ".bazaar/authentication.conf",
	".p4tickets", ".arcrc", "lab/lab.toml", "forgejo-cli/keys.json", ".jira/.config.yml", ".jira.d", ".travis/config.yml",
	"ggshield/auth_config.yaml", ".semgrep/settings.yml", "configstore/snyk.json",
	/* clouds and hosting */
	".aws", ".aws/credentials", ".aws/sso", ".aws/cli", ".aws/login", ".azure", ".azure/accessTokens.json",
	".azure/msal_token_cache*", ".azure/service_principal_entries*", ".gcloud", ".config/gcloud", "gcloud/credentials.db",
	"gcloud/access_tokens.db", "gcloud/legacy_credentials", "application_default_credentials.json", ".boto", ".s3cfg", ".passwd-s3fs",
	".mc/config.json", ".oci", ".bluemix", ".aliyun/config.json", "doctl/config.yaml", "hcloud/cli.toml", "scw/config.yaml",
	".config/linode-cli", ".fly/config.yml", ".wrangler/config", "com.vercel.cli/auth.json", ".netlify/config.json",
	"netlify/config.json", ".railway/config.json", ".render/cli.yaml", ".supabase/access-token", "configstore/firebase-tools.json",
	".cloudflared", "ngrok/ngrok.yml", ".ngrok2/ngrok.yml", "rclone/rclone.conf", ".rclone.conf", ".databrickscfg", ".snowsql/config",
	".snowflake/connections.toml", "snowflake/connections.toml", ".dbt/profiles.yml", ".kaggle/kaggle.json", "huggingface/token",
	"huggingface/stored_tokens", ".huggingface/token", ".modal.toml", ".sentryclirc", ".circleci/cli.yml", "stripe/config.toml",
	".twilio-cli/config.json", ".clasprc.json", ".expo/state.json", ".dropbox", "openstack/clouds.yaml", "openstack/secure.yaml",
	".config/argocd/config", ".argocd/config", "planetscale/access-token", "turso/settings.json", ".upstash.json", "upctl.yaml",
	".vultr-cli.yaml", "vultr-cli.yaml", ".civo.json", ".koyeb.yaml", "exoscale/exoscale.toml", ".ovh.conf",
	"yandex-cloud/config.yaml", ".tccli/*.credential", "kaggle/kaggle.json", "replicate/hosts", ".runpod/config.toml",
	".comet.config", ".mlflow/credentials", "shopify-cli-kit-nodejs/config.json", "syncthing/config.xml", "kopia/repository.config",
	"rustic/rustic.toml",
	/* clusters and infrastructure */
	".kube", ".kube/config", "helm/registry/config.json", "helm/repositories.yaml", ".terraform.d", ".terraformrc", "terraform.rc",
	".tofurc", "credentials.tfrc.json", "*.tfstate", "*.tfstate.*", "*.tfvars", "*.tfvars.json", ".pulumi/credentials.json",
	"*.kubeconfig", "kubeconfig.yaml", "kubeconfig.yml", ".rancher/cli2.json", ".talos/config", ".chef/credentials",
	".spacelift/config.json", "infracost/credentials.yml", ".infracost/credentials.yml",
	/* coding agents: credentials and transcripts */
	".claude.json", ".claude.json.*", ".claude/.credentials.json", ".claude/history.jsonl", ".claude/projects",
	".claude/.claude.json", ".codex/auth.json", ".codex/history.jsonl", ".codex/sessions", ".gemini/oauth_creds.json",
	".gemini/google_accounts.json", ".gemini/mcp-oauth-tokens.json", ".qwen/oauth_creds.json", "opencode/auth.json",
	"opencode/mcp-auth.json", "cursor/auth.json", ".cursor/mcp.json", "github-copilot/hosts.json", "github-copilot/apps.json",
	".copilot/config.json", ".aider.conf.yml", ".aider.*history*", ".continue/config.json", ".continue/config.yaml",
	".codeium/config.json", "goose/secrets.yaml", "amp/secrets.json", ".factory/auth.json", ".openhands/settings.json",
	"io.datasette.llm/keys.json", "globalStorage/state.vscdb*", "claude_desktop_config.json", ".claude/file-history",
	".claude/paste-cache", ".claude/debug", ".codex/archived_sessions", ".codex/log", ".gemini/tmp", ".qwen/tmp",
	"github-copilot/oauth.json", ".copilot/session-state", ".copilot/history-session-state", ".copilot/mcp-config.json",
	".continue/sessions", "windsurf/mcp_config.json", ".kiro/settings/mcp.json", ".factory/auth.*", ".factory/config.json",
	".factory/sessions", "goose/sessions", "opencode/storage", "opencode/opencode.db*", ".config/crush/crush.json",
	".local/share/crush/crush.json", "zed/threads", "amazon-q/data.sqlite3", "kiro-cli/data.sqlite3", ".augment/session.json",
	".grok/user-settings.json", ".plandex-home*/auth.json", ".kilocode/cli/config.json", "warp-terminal/warp.sqlite*",
	"io.datasette.llm/logs.db", ".anthropic", ".config/anthropic", ".openai",
	/* package registries and containers */
	".npmrc", ".yarnrc.yml", "pnpm/auth.ini", ".bunfig.toml", ".pypirc", ".pip/pip.conf", "pip/pip.conf", "pypoetry/auth.toml",
	"uv/credentials", ".condarc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
	".m2/settings-security.xml", ".gradle/gradle.properties", ".sbt/.credentials", ".ivy2/.credentials", "NuGet/NuGet.Config",
	"composer/auth.json", ".composer/auth.json", ".hex/hex.config", ".cabal/config", "dart/pub-credentials.json", ".docker",
	".docker/config.json", ".dockercfg", "containers/auth.json", "gem/credentials", "pnpm/rc", ".config/hatch/config.toml",
	".config/pdm/config.toml", ".anaconda/keyring", ".continuum", ".sbt/1.0/credentials.sbt", ".lein/credentials.clj",
	".luarocks/upload_config.lua", ".pause", ".local/share/jupyter/runtime",
	/* databases and mail */
	".pgpass", "pgpass.conf", ".pg_service.conf", ".my.cnf", ".mylogin.cnf", ".cassandra/credentials", ".msmtprc", ".mbsyncrc",
	".fetchmailrc", ".offlineimaprc", ".authinfo", ".smbcredentials", ".davfs2/secrets", ".Xauthority", ".ICEauthority", ".curlrc",
	".wgetrc", "msmtp/config", ".config/isyncrc", "aerc/accounts.conf", "himalaya/config.toml", ".muttrc", ".mutt", ".config/neomutt",
	"weechat/sec.conf", ".weechat/sec.conf", ".irssi/config", ".purple/accounts.xml", "filezilla/sitemanager.xml",
	"filezilla/recentservers.xml", "*.remmina", "credentials-config.json", ".httpie/sessions", "httpie/sessions", ".config/Postman",
	".config/Insomnia", ".config/Slack", ".config/discord", ".config/Signal", ".config/Element", ".local/share/TelegramDesktop",
	"pulse/cookie",
	/* browsers' profiles */
	".mozilla", ".thunderbird", ".librewolf", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
	".config/microsoft-edge", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", "key4.db", "logins.json",
	"cookies.sqlite", "Login Data", ".config/google-chrome-*", ".zen", ".waterfox", ".floorp", ".var/app/org.mozilla.firefox",
	".var/app/com.google.Chrome", ".var/app/org.chromium.Chromium", ".pki/nssdb",
	NULL,
};
