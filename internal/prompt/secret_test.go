package prompt_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/run"
)

var canaries = []string{
	".env", ".env.local", "config/.env.production", ".envrc", "deploy/prod.env", "server.pem", "tls/server.key", "TLS/SERVER.KEY",
	"id_rsa", "id_rsa.pub", "keys/id_ed25519", "store.p12", "store.pfx", "store.jks", "app.keystore", "AuthKey_1.p8", "pass.kdbx",
	"credentials", "credentials.json", "aws/credentials.csv", "secrets.yaml", "k8s/secrets/db.txt", "config/Secrets.toml", "secret.json",
	".npmrc", "home/.netrc", ".pypirc", ".aws/config", ".ssh/config", ".ssh/known_hosts", ".docker/config.json", ".kube/config",
	".git-credentials", ".git/config", "infra/terraform.tfstate", "infra/prod.tfvars", "service-account-1.json", ".htpasswd", ".pgpass",
}

func TestWithheld(t *testing.T) {
	for _, path := range canaries {
		if !prompt.Withheld(path) {
			t.Errorf("%s goes out", path)
		}
	}
	for _, path := range []string{
		"main.go", "internal/env/env.go", "environment.md", "tokenizer.go", "keys.go", "keyboard.ts", "auth/login.go", "pem.go", "secretary.go", ".gitignore", ".github/workflows/ci.yml",
	} {
		if prompt.Withheld(path) {
			t.Errorf("%s is withheld", path)
		}
	}
}

// docs/contracts/run.md, 15: no secret file is sent, whatever points at it.
func TestNoSecretFileGoesOut(t *testing.T) {
	r := repository{"main.go": "package main\n"}
	var diff strings.Builder
	for _, path := range canaries {
		r[path] = "CANARY\n"
		diff.WriteString("diff --git a/" + path + " b/" + path + "\n--- a/" + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-CANARY\n+CANARY 2\n")
	}
	for _, names := range []string{
		"diff --git a/x b/.env\nsimilarity index 90%\nrename from x\nrename to .env\n",
		"diff --git a/.env b/x\nsimilarity index 90%\nrename from .env\nrename to x\n--- a/.env\n+++ b/x\n",
		"diff --git \"a/gr\\303\\266sse.pem\" \"b/gr\\303\\266sse.pem\"\n--- \"a/gr\\303\\266sse.pem\"\n+++ \"b/gr\\303\\266sse.pem\"\n",
		"diff --git a/a b.key b/a b.key\n--- a/a b.key\t\n+++ b/a b.key\t\n",
		"diff --git a/broken b/broken\n--- \"a/broken\n+++ b/broken\n",
		"diff --git a/server.key b/server.key\nnew file mode 100644\n--- /dev/null\n+++ b/server.key\n",
		"diff --git a/server.key b/server.key\ndeleted file mode 100644\n--- a/server.key\n+++ /dev/null\n",
	} {
		diff.WriteString(names + "@@ -1 +1 @@\n-CANARY\n+CANARY 2\n")
	}
	all := strings.Join(canaries, " ")
	for _, role := range run.Roles {
		for _, text := range []string{"CANARY\n", ""} { // with and without a part before the first file
			p := prompt.Build(prompt.In{
				Role: role, Goal: all, Plan: all, Problem: all, Mentioned: canaries,
				Guidance: []run.Guidance{{Kind: run.FromVerdict, Text: all}}, Diff: prompt.ReadDiff([]byte(text + diff.String())), Files: r.files(), Read: r.read,
			})
			if strings.Contains(p.Flatten(), "CANARY") {
				t.Errorf("%s: a canary went out", role)
			}
		}
	}
}

func TestDiffKeepsItsOtherFiles(t *testing.T) {
	in := input(run.Evaluator)
	in.Diff = prompt.ReadDiff([]byte("diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n" + branchDiff +
		"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"))
	user := prompt.Build(in).User
	for _, want := range []string{branchDiff, "It changes 2 files: `calc/div.go`, `run.sh`, and 1 file withheld", "new mode 100755"} {
		if !strings.Contains(user, want) {
			t.Errorf("%q is missing in\n%s", want, user)
		}
	}
}
