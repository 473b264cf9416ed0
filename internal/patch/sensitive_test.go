package patch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// reasons returns the reasons for which a new file of that name needs a person.
func reasons(t *testing.T, tree memory, name string) []patch.Reason {
	t.Helper()
	return plan(t, tree, addition(name)).Sensitive
}

// TestNamesThatNeedAPerson goes through the table name by name. Finding B9: the
// names of its list are all here.
func TestNamesThatNeedAPerson(t *testing.T) {
	for what, names := range map[string]string{
		"changes how git treats the repository": ".gitattributes sub/.gitmodules .gitconfig .lfsconfig",
		"may be run as a git hook": `.husky/pre-commit hooks/post-checkout .githooks/pre-push .pre-commit-config.yaml lefthook.yml .lefthook/pre-commit/x.sh
			.huskyrc .lintstagedrc .lintstagedrc.js lint-staged.config.js .overcommit.yml captainhook.json prek.toml`,
		"CI workflow": `.github/workflows/ci.yml .github/CODEOWNERS Jenkinsfile .gitlab-ci.yml .circleci/config.yml .buildkite/pipeline.yml azure-pipelines.yml azure-pipelines-2.yaml .travis.yml
			bitbucket-pipelines.yml .drone.yml appveyor.yml .cirrus.yml cloudbuild.yaml buildspec.yml .woodpecker.yml action.yml renovate.json .goreleaser.yml .tekton/run.yaml .gitea/workflows/x.yml
			.builds/a.yml zuul.d/jobs.yaml dagger.json codecov.yml netlify.toml vercel.json wrangler.toml Dangerfile .releaserc .mergify.yml`,
		"Claude Code":                     ".claude/settings.json CLAUDE.md sub/CLAUDE.local.md .claude-plugin/plugin.json",
		"Codex":                           ".codex/config.toml",
		"a program by Gemini CLI":         ".gemini/settings.json GEMINI.md",
		"a program by opencode":           "opencode.json opencode.jsonc .opencode/plugin/x.ts .opencode/tool.js",
		"a program by pi":                 ".pi/extensions/x.ts .pi/settings.json .pi/extensions/a/b.js",
		"OpenClaw":                        "openclaw.json .openclaw/x SOUL.md",
		"Aider":                           ".aider.conf.yml .aider.model.settings.yml .aiderignore",
		"Cursor":                          ".cursor/mcp.json .cursorrules",
		"Windsurf":                        ".windsurfrules .windsurf/rules/x.md",
		"lets agents start programs":      ".mcp.json mcp.json",
		"instructions that agents follow": "AGENTS.md web/AGENTS.md .clinerules .clinerules/x.md .goosehints .augment-guidelines .agents/skills/x/SKILL.md QWEN.md web/CONTEXT.md copilot-instructions.md",
		"configures an agent":             ".continue/config.yaml .roo/mcp.json .kilocode/x .amp/settings.json .kiro/hooks/x .junie/guidelines.md .crush.json crush.json .factory/x .openhands/setup.sh .amazonq/x .qwen/settings.json .goose/x .serena/project.yml",
		"whenever Python starts":          "sitecustomize.py usercustomize.py evil.pth lib/x.pth",
		"the environment that commands run in": `.envrc mise.toml .mise.toml .mise/tasks/x .config/mise/config.toml .tool-versions .nvmrc .python-version .ruby-version .sdkmanrc flake.nix flake.lock shell.nix default.nix devenv.nix
			devbox.json environment.yml pixi.toml`,
		"the container that commands run in": `Dockerfile Dockerfile.test api.dockerfile Containerfile docker-compose.yml docker-compose.test.yaml compose.yaml docker-bake.hcl .devcontainer/devcontainer.json .devcontainer.json devcontainer.json
			Vagrantfile skaffold.yaml Tiltfile Earthfile Procfile .gitpod.yml .replit`,
		"when it starts":       ".bashrc .profile .zshenv .inputrc .gdbinit .lldbinit .pdbrc .irbrc .pryrc .ghci .ocamlinit .Rprofile .iex.exs",
		"configures an editor": ".vscode/tasks.json .idea/runConfigurations/x.xml .vs/x .zed/tasks.json app.code-workspace .vimrc .exrc .nvim.lua .dir-locals.el",
		"a package manager":    ".npmrc .yarnrc .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs bunfig.toml .bundle/config pip.conf uv.toml .pypirc NuGet.Config .cargo/config.toml sub/.cargo/config",
		"test configuration": `conftest.py tests/unit/conftest.py pytest.ini tox.ini noxfile.py .coveragerc jest.config.js jest.config.ts jest.setup.js setupTests.ts vitest.config.ts vitest.config.mts vitest.workspace.ts vitest.setup.ts
			playwright.config.ts cypress.config.js cypress.json cypress/support/e2e.ts cypress/plugins/index.js karma.conf.js .mocharc .mocharc.json .mocharc.cjs test/mocha.opts ava.config.js .nycrc wdio.conf.ts testem.js
			protractor.conf.js cucumber.js .rspec spec/spec_helper.rb spec/rails_helper.rb test/test_helper.rb .simplecov features/support/env.rb test/test_helper.exs phpunit.xml phpunit.xml.dist tests/Pest.php behat.yml
			tests/bootstrap.php testng.xml src/test/resources/junit-platform.properties x.runsettings App.xctestplan dart_test.yaml .proverc .busted
			src/test/resources/META-INF/services/org.junit.jupiter.api.extension.Extension`,
		"what code is installed": `node_modules/jest/bin/jest.js .venv/lib/x.py lib/site-packages/x.py go.sum package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock Cargo.lock Gemfile Gemfile.lock Pipfile Pipfile.lock poetry.lock uv.lock requirements.txt requirements-dev.txt
			requirements/dev.txt constraints.txt composer.json composer.lock mix.lock pubspec.lock Podfile.lock Package.resolved packages.lock.json vendor/modules.txt gradle/libs.versions.toml cpanfile renv.lock conanfile.py vcpkg.json`,
		"part of the build that the checks run": `Makefile makefile GNUmakefile sub/Makefile Makefile.am Makefile.in rules/test.mk configure configure.ac aclocal.m4 CMakeLists.txt cmake/x.cmake CMakePresets.json meson.build SConstruct wscript build.ninja
			BUILD BUILD.bazel WORKSPACE MODULE.bazel defs.bzl .bazelrc BUCK .buckconfig Justfile .justfile Taskfile.yml Taskfile.yaml Taskfile.dist.yml magefile.go magefiles/x.go Rakefile lib/tasks/x.rake fastlane/Fastfile x.gemspec
			package.json web/package.json pnpm-workspace.yaml lerna.json nx.json turbo.json deno.json tsconfig.json tsconfig.test.json jsconfig.json .swcrc .babelrc babel.config.js babel.config.json webpack.config.js rollup.config.mjs
			esbuild.config.js vite.config.ts angular.json gulpfile.js Gruntfile.js setup.py setup.cfg pyproject.toml MANIFEST.in fabfile.py dodo.py go.mod go.work tools/go.mod Cargo.toml build.rs rust-toolchain rust-toolchain.toml
			pom.xml .mvn/jvm.config .mvn/extensions.xml mvnw gradlew gradlew.bat build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradle/wrapper/gradle-wrapper.properties buildSrc/src/main/kotlin/x.kt
			build.xml build.sbt project/plugins.sbt project/build.properties build.sc deps.edn project.clj App.csproj Directory.Build.props Directory.Build.targets App.sln global.json build.cake Package.swift App.xcodeproj/project.pbxproj
			pubspec.yaml mix.exs rebar.config x.cabal stack.yaml Setup.hs dune dune-project x.opam x.nimble config.nims build.zig Project.toml Makefile.PL Makevars dub.json shard.yml debian/rules binding.gyp`,
		"a linter or formatter": `.eslintrc .eslintrc.js .eslintrc.json eslint.config.mjs .prettierrc .prettierrc.js .stylelintrc.json biome.json .golangci.yml .flake8 .pylintrc mypy.ini ruff.toml .clang-tidy clippy.toml deny.toml .rubocop.yml
			phpstan.neon psalm.xml rector.php .php-cs-fixer.php php.ini checkstyle.xml detekt.yml .swiftlint.yml .credo.exs .luacheckrc`,
		"a program by JavaScript tools": "next.config.js nuxt.config.ts astro.config.mjs postcss.config.cjs tailwind.config.ts hardhat.config.ts .lintrc.cjs .storybook/main.js",
		"may hold secrets":              ".env deploy/.env.production id_rsa .aws/credentials server.pem .netrc kubeconfig secrets/x terraform.tfstate prod.tfvars",
		"the records of runs":           ".runs/workflows/r1/events.ndjson sub/.runs/x",
		"read the name as an option":    "-rf docs/--help -x/y",
		"as a home directory":           "~/.ssh2 a/~/b ~root/x",
	} {
		for _, name := range strings.Fields(names) {
			t.Run(name, func(t *testing.T) {
				for _, name := range []string{name, strings.ToUpper(name)} {
					if got := reasons(t, memory{}, name); len(got) == 0 || got[0].Path != name || !strings.Contains(got[0].Reason, what) {
						t.Errorf("%s: got %v, want %q", name, got, what)
					}
				}
			})
		}
	}
}

func TestNamesThatNeedNobody(t *testing.T) {
	for _, name := range strings.Fields(`main.go calc/div_test.go src/environment.go tests/test_core.py src/app.test.ts spec/user_spec.rb lib/a.rb src/lib.rs tests/it.rs README.md docs/index.md LICENSE
		index.html index.js src/index.ts src/config.ts src/config.json internal/config/config.go cmd/docker/main.go internal/docker/compose.go src/build/main.go build/output.txt src/packages.ts package/x.go setup/x.py src/setup.ts
		src/head/x.go head.html layouts/partials/head.html refs/x objects/x config objects.py a~ b-c x/a-b.txt git.go x.git.go src/gradle/Foo.java org/gradle/Foo.java src/mise/x.go src/claude/x.go cursor/x.go agents/x.go pi/x.go
		db/schema.sql migrations/001_init.sql static/style.css templates/page.tmpl src/Makefile_parser.go taskfile.go justfile_test.go app/models/user.rb test/helper.js test/fixtures/x.json data.csv .gitignore .gitkeep .editorconfig`) {
		t.Run(name, func(t *testing.T) {
			if got := reasons(t, memory{}, name); len(got) > 0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

// Findings, section 6: a directory laid out like a bare repository.
func TestADirectoryThatCouldBeARepositoryNeedsAPerson(t *testing.T) {
	tree := memory{files: map[string]patch.File{
		"there/HEAD": {Mode: patch.Regular, Content: []byte("ref: refs/heads/x\n")},
		"HEAD":       {Mode: patch.Regular, Content: []byte("x\n")},
	}}
	for _, tt := range []struct {
		name, diff string
		paths      []string
	}{
		{"made whole", addition("x.git/HEAD") + addition("x.git/config") + addition("x.git/objects/a") + addition("x.git/refs/a"),
			[]string{"x.git/HEAD", "x.git/config", "x.git/objects/a", "x.git/refs/a"}},
		{"its beginning", addition("any/HEAD"), []string{"any/HEAD"}},
		{"its beginning where letter case does not count", addition("any/head"), []string{"any/head"}},
		{"what was missing of one that is there", addition("there/hooks2/x") + addition("there/config"), []string{"there/config", "there/hooks2/x"}},
		{"beside one", addition("other/config"), nil},
		{"the top, where the repository itself is", addition("config"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var paths []string
			for _, r := range plan(t, tree, tt.diff).Sensitive {
				paths = append(paths, r.Path)
				if !strings.Contains(r.Reason, "as a repository") {
					t.Errorf("got %v", r)
				}
			}
			if !slices.Equal(paths, tt.paths) {
				t.Errorf("got %q, want %q", paths, tt.paths)
			}
		})
	}
}

// had is a tree with a file that has a terminal sequence.
var had = memory{files: map[string]patch.File{"had.txt": {Mode: patch.Regular, Content: []byte("\x1b[31mred\nplain\n")}}}

func TestContentThatNeedsAPerson(t *testing.T) {
	for name, diff := range map[string]string{
		"an executable":                        "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n",
		"text that runs backwards":             "--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+if a {\u2066// }\n",
		"a terminal sequence":                  "--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+// \x1b[8m\n",
		"a bell":                               "--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+// \a\n",
		"a terminal sequence of one character": "--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+// \u009b8m\n",
		"a line over a line":                   "--- /dev/null\n+++ b/x.go\n@@ -0,0 +1 @@\n+# evil()\r# fine\n",
		"one more than it had":                 "--- a/had.txt\n+++ b/had.txt\n@@ -1,2 +1,2 @@\n \x1b[31mred\n-plain\n+\x1b[31mred\n",
	} {
		t.Run(name, func(t *testing.T) {
			if c := plan(t, had, diff); len(c.Sensitive) != 1 {
				t.Errorf("got %v", c.Sensitive)
			}
		})
	}
}

func TestContentThatNeedsNobody(t *testing.T) {
	for name, diff := range map[string]string{
		"line ends of Windows":   "--- /dev/null\n+++ b/x.go\n@@ -0,0 +1,2 @@\n+a\r\n+\tb\r\n",
		"a new page":             "--- /dev/null\n+++ b/x.c\n@@ -0,0 +1 @@\n+\f\n",
		"letters of an alphabet": "--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1 @@\n+naïve 日本 🙂\n",
		"a sequence that it had": "--- a/had.txt\n+++ b/had.txt\n@@ -1,2 +1,2 @@\n-\x1b[31mred\n+\x1b[32mred\n plain\n",
		"one that it loses":      "--- a/had.txt\n+++ b/had.txt\n@@ -1,2 +1,2 @@\n-\x1b[31mred\n+red\n plain\n",
	} {
		t.Run(name, func(t *testing.T) {
			if c := plan(t, had, diff); len(c.Sensitive) > 0 {
				t.Errorf("got %v", c.Sensitive)
			}
		})
	}
}
