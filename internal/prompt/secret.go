package prompt

import (
	"path"
	"slices"
	"strings"
)

// Withheld reports whether a file is never sent, because its name says that it may hold secrets
// (docs/contracts/run.md, 15). It judges every segment of the path, in any case.
func Withheld(name string) bool {
	for segment := range strings.SplitSeq(strings.ToLower(name), "/") {
		if slices.Contains(secretNames, segment) || matchesAny(secretForms, segment) {
			return true
		}
	}
	return false
}

var secretNames = []string{
	".git", ".ssh", ".aws", ".azure", ".gcloud", ".gnupg", ".kube", ".docker",
	".npmrc", ".netrc", "_netrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd",
	".git-credentials", ".dockercfg", ".vault-token", ".terraformrc", "kubeconfig",
}

var secretForms = []string{
	".env*", "*.env", "credentials*", "secrets*", "secret.*", ".credentials*", ".secrets*",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"*.tfstate", "*.tfstate.*", "*.tfvars", "service-account*.json", "*.ovpn",
}

// lockFiles are files that a tool writes and that people do not read.
var lockFiles = []string{
	"go.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
	"Cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Gemfile.lock", "composer.lock",
	"flake.lock", "mix.lock", "pubspec.lock", "packages.lock.json", "gradle.lockfile", "Podfile.lock",
}

// manifests are the files at the top level that describe a repository and its build.
var manifests = []string{
	"README*", "readme*", "go.mod", "go.work", "package.json", "pnpm-workspace.yaml", "tsconfig.json",
	"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "requirements.txt", "Cargo.toml",
	"Makefile", "makefile", "justfile", "CMakeLists.txt", "pom.xml", "build.gradle", "build.gradle.kts",
	"Gemfile", "composer.json", "mix.exs", "CONTRIBUTING.md",
}

// isLock reports whether name is a lock file.
func isLock(name string) bool { return slices.Contains(lockFiles, path.Base(name)) }

// matchesAny reports whether name matches one of forms.
func matchesAny(forms []string, name string) bool {
	return slices.ContainsFunc(forms, func(form string) bool {
		ok, err := path.Match(form, name)
		return ok && err == nil
	})
}
