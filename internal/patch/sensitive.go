package patch

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"
)

// sensitive gives what in files needs a person under every policy but never.
func sensitive(files []FileChange) []Reason {
	var reasons []Reason
	for _, f := range files {
		for _, name := range []string{f.Path, f.OldPath} {
			if why := sensitiveName(name); why != "" {
				reasons = append(reasons, Reason{Path: name, Reason: why})
			}
		}
		if why := sensitiveFile(f); why != "" {
			reasons = append(reasons, Reason{Path: f.Path, Reason: why})
		}
	}
	return reasons
}

// Names that decide what runs where, or hold secrets. All are lower-case.
var (
	ciFiles = []string{
		"jenkinsfile", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".travis.yml", "azure-pipelines.yml", "azure-pipelines.yaml", "bitbucket-pipelines.yml",
		".drone.yml", ".drone.yaml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml",
		".woodpecker.yml", ".semaphore.yml", "action.yml", "action.yaml", "codeowners", "renovate.json", ".goreleaser.yml", ".goreleaser.yaml",
	}
	ciDirs = []string{".github", ".gitlab", ".circleci", ".buildkite", ".woodpecker", ".azure-pipelines", ".teamcity", ".forgejo", ".gitea", ".semaphore", ".tekton"}

	hookFiles = []string{
		".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml", "lefthook.toml",
		".huskyrc", ".overcommit.yml", ".lintstagedrc",
	}
	hookDirs = []string{".husky", ".githooks", "hooks", ".lefthook", "git-hooks"}

	toolFiles = []string{
		".envrc", ".mcp.json", "agents.md", "claude.md", "gemini.md", ".cursorrules", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".gitconfig", ".gemrc",
		".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".inputrc", ".vimrc",
	}
	toolDirs = []string{".vscode", ".idea", ".devcontainer", ".claude", ".codex", ".cursor", ".yarn"}

	secretFiles = []string{
		".netrc", "_netrc", "kubeconfig", "credentials", "credentials.json", ".git-credentials", "secrets.yml", "secrets.yaml", "secrets.json", "service-account.json",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", ".htpasswd", ".dockercfg", ".pgpass", ".my.cnf", ".vault-token", "terraform.tfstate",
	}
	secretDirs     = []string{".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", "secrets"}
	secretSuffixes = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".ovpn", ".tfvars", ".tfstate"}
)

func sensitiveName(name string) string {
	folded := strings.ToLower(name)
	base := path.Base(folded)
	dirs := strings.Split(path.Dir(folded), "/")
	inDir := func(set []string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return slices.Contains(set, d) })
	}
	switch {
	case base == ".gitattributes" || base == ".gitmodules":
		return "it changes how git treats the repository"
	case slices.Contains(hookFiles, base) || inDir(hookDirs):
		return "it may be run as a hook"
	case slices.Contains(ciFiles, base) || inDir(ciDirs):
		return "it may be run by continuous integration, or guards the repository"
	case slices.Contains(toolFiles, base) || inDir(toolDirs):
		return "it configures tools that run on a developer's machine"
	case slices.Contains(secretFiles, base) || inDir(secretDirs) || hasSuffix(base, secretSuffixes),
		base == ".env" || strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env"):
		return "it may hold secrets"
	}
	return ""
}

func hasSuffix(s string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}

func sensitiveFile(f FileChange) string {
	switch {
	case f.After == nil:
		return ""
	case f.After.Mode == Executable && (f.Before == nil || f.Before.Mode != Executable):
		return "it becomes executable"
	case f.After.Mode == Executable && f.Added+f.Deleted > 0:
		return "it is executable"
	case addsDirection(f):
		return "it gains characters that change the direction of text"
	}
	return ""
}

// addsDirection reports whether a file gains control characters of text direction,
// which make source read otherwise than it runs.
func addsDirection(f FileChange) bool {
	var before []byte
	if f.Before != nil {
		before = f.Before.Content
	}
	return count(f.After.Content) > count(before)
}

func count(text []byte) (n int) {
	if bytes.IndexByte(text, "\u2067"[0]) < 0 && bytes.IndexByte(text, "\u061c"[0]) < 0 {
		return 0
	}
	for _, r := range string(text) {
		if unicode.Is(unicode.Bidi_Control, r) {
			n++
		}
	}
	return n
}
