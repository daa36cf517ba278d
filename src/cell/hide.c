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
	".env", ".env.*", "*.env", "*.env.local", ".envrc", ".dev.vars", ".dev.vars.*",
	"!.env.example", "!.env.*.example", "!.env.sample", "!.env.template", "!.env.dist", "!example.env", "!sample.env", "!template.env",
	/* keys and stores of keys */
	"*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.jceks", "*.bks", "*.keystore", "*.kdb", "*.kdbx", "*.ppk", "*.ovpn",
	"*.keytab", "*.agekey", "*.keychain-db", "krb5cc_*", "age/keys.txt", "ssh_host_*_key",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
	".ssh", ".gnupg", ".password-store", ".keychain", ".local/share/keyrings", ".local/share/kwalletd", "Library/Keychains",
	"key.properties", "keystore.properties", "private-keys-v1.d", "secring.gpg",
	/* secrets by their names */
	"credentials.json", "secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml", "local.settings.json", ".htpasswd", ".vault_pass*",
	".vault-pass*", "client_secret*.json", "service-account*.json", "service_account*.json", "*firebase-adminsdk*.json",
	/* secrets managers */
	".config/op", ".op", ".1password", ".config/Bitwarden CLI", ".config/Bitwarden", ".config/lpass", ".lpass", ".vault-token", ".doppler",
	".infisical", ".akeyless", ".tsh", ".awsvault", ".saml2aws", "keeper.ini",
	/* shells, interpreters, databases, pagers and editors: what was typed */
	".*history", ".*history-*", ".*_history.*", ".*_hist", ".histfile", "fish_history", "lesshst", ".lesshst", ".viminfo", ".nviminfo",
	"nvim/shada", ".ipython/profile_*/history.sqlite", "nushell/history.txt", "nushell/history.sqlite3", "atuin/history.db", "atuin/key",
	"mcfly/history.db", "repl_history.jl", "deno_history.txt", ".mongosh", ".dbshell", ".wget-hsts",
	/* forges */
	".gitconfig", ".git-credentials", "git/credentials", ".netrc", "_netrc", "gh/hosts.yml", "glab-cli/config.yml", "tea/config.yml",
	".config/hub",
	/* clouds and hosting */
	".aws", ".aws/credentials", ".aws/sso", ".aws/cli", ".aws/login", ".azure", ".azure/accessTokens.json", ".azure/msal_token_cache*",
	".azure/service_principal_entries*", ".gcloud", ".config/gcloud", "gcloud/credentials.db", "gcloud/access_tokens.db",
	"gcloud/legacy_credentials", "application_default_credentials.json", ".boto", ".s3cfg", ".passwd-s3fs", ".mc/config.json", ".oci",
	".bluemix", ".aliyun/config.json", "doctl/config.yaml", "hcloud/cli.toml", "scw/config.yaml", ".config/linode-cli", ".fly/config.yml",
	".wrangler/config", "com.vercel.cli/auth.json", ".netlify/config.json", "netlify/config.json", ".railway/config.json",
	".render/cli.yaml", ".supabase/access-token", "configstore/firebase-tools.json", ".cloudflared", "ngrok/ngrok.yml", ".ngrok2/ngrok.yml",
	"rclone/rclone.conf", ".rclone.conf", ".databrickscfg", ".snowsql/config", ".snowflake/connections.toml",
	"snowflake/connections.toml", ".dbt/profiles.yml", ".kaggle/kaggle.json", "huggingface/token", "huggingface/stored_tokens",
	".huggingface/token", ".modal.toml", ".sentryclirc", ".circleci/cli.yml", "stripe/config.toml", ".twilio-cli/config.json",
	".clasprc.json", ".expo/state.json", ".dropbox",
	/* clusters and infrastructure */
	".kube", ".kube/config", "helm/registry/config.json", "helm/repositories.yaml", ".terraform.d", ".terraformrc", "terraform.rc", ".tofurc",
	"credentials.tfrc.json", "*.tfstate", "*.tfstate.*", "*.tfvars", "*.tfvars.json", ".pulumi/credentials.json",
	/* coding agents: credentials and transcripts */
	".claude.json", ".claude.json.*", ".claude/.credentials.json", ".claude/history.jsonl", ".claude/projects", ".claude/.claude.json",
	".codex/auth.json", ".codex/history.jsonl", ".codex/sessions", ".gemini/oauth_creds.json", ".gemini/google_accounts.json",
	".gemini/mcp-oauth-tokens.json", ".qwen/oauth_creds.json", "opencode/auth.json", "opencode/mcp-auth.json", "cursor/auth.json",
	".cursor/mcp.json", "github-copilot/hosts.json", "github-copilot/apps.json", ".copilot/config.json", ".aider.conf.yml",
	".aider.*history*", ".continue/config.json", ".continue/config.yaml", ".codeium/config.json", "goose/secrets.yaml", "amp/secrets.json",
	".factory/auth.json", ".openhands/settings.json", "io.datasette.llm/keys.json",
	/* package registries and containers */
	".npmrc", ".yarnrc.yml", "pnpm/auth.ini", ".bunfig.toml", ".pypirc", ".pip/pip.conf", "pip/pip.conf", "pypoetry/auth.toml",
	"uv/credentials", ".condarc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
	".m2/settings-security.xml", ".gradle/gradle.properties", ".sbt/.credentials", ".ivy2/.credentials", "NuGet/NuGet.Config",
	"composer/auth.json", ".composer/auth.json", ".hex/hex.config", ".cabal/config", "dart/pub-credentials.json",
	".docker", ".docker/config.json", ".dockercfg", "containers/auth.json",
	/* databases and mail */
	".pgpass", "pgpass.conf", ".pg_service.conf", ".my.cnf", ".mylogin.cnf", ".cassandra/credentials", ".msmtprc", ".mbsyncrc", ".fetchmailrc",
	".offlineimaprc", ".authinfo", ".smbcredentials", ".davfs2/secrets", ".Xauthority", ".ICEauthority",
	/* browsers' profiles */
	".mozilla", ".thunderbird", ".librewolf", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", "key4.db", "logins.json", "cookies.sqlite", "Login Data",
	NULL,
};
