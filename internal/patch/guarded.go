package patch

import (
	"path"
	"slices"
	"strings"
)

// guardRow is a description and the names that have it. The description is to be read after a name and a colon.
//
// A pattern is the name of a file in any directory. With a slash at its end it is a directory and stands for
// everything below it. With slashes before that it is a name and the directories that lead to it. Each part is
// a pattern of path.Match. Letter case does not count.
type guardRow struct{ what, patterns string }

// agentNames lists the names whose change needs a person's approval because coding agents follow what has the name, or
// load programs from it. Everything below a directory of an agent belongs to the agent, whatever its name. A pattern
// has one part and does not begin with a star: see FollowedByAgents.
var agentNames = []guardRow{
	{"Claude Code runs programs from it, or follows it", `.claude/ .claude.json .claude-plugin/ claude.md claude.local.md`},
	{"Codex runs programs from it, or follows it", `.codex/ codex.md`},
	{"loaded as a program by Gemini CLI, or followed by it", `.gemini/ gemini.md`},
	{"loaded as a program by opencode", `opencode.json opencode.jsonc .opencode/`},
	{"loaded as a program by pi", `.pi/`},
	{"OpenClaw runs programs from it", `openclaw.json .openclaw/ soul.md heartbeat.md`},
	{"Aider runs programs from it", `.aider*`},
	{"Cursor runs programs from it, or follows it", `.cursor/ .cursorrules`},
	{"Windsurf runs programs from it, or follows it", `.windsurf/ .windsurfrules`},
	{"configures an agent, which may run programs from it", `
		.cline/ .roo/ .roomodes .kilocode/ .kilo/ .kilocodemodes .continue/ .continuerc.json .amp/ .goose/ .junie/ .kiro/ .augment/ .trae/ .qwen/ crush.json .crush.json .crush/ .factory/
		.openhands/ .amazonq/ .devin/ .tabnine/ .cody/ .sourcegraph/ .plandex/ .serena/ .grok/ .iflow/ .codebuddy/ firebender.json .firebender/ .hermes/ .letta/ .mux/ .specify/ .taskmaster/ .copilot/`},
	{"lets agents start programs", `.mcp.json mcp.json .mcp/ mcp.y*ml`},
	{"instructions that agents follow", `agents.md agents.override.md agent.md .agents/ .agent/ copilot-instructions.md skill.md .rules qwen.md crush.md context.md iflow.md codebuddy.md warp.md grok.md
		.clinerules .clinerules/ .roorules* .goosehints .augment-guidelines .openhands_instructions .voidrules .continuerules`},
}

// guardedNames lists the other names whose change needs a person's approval. The first row that matches a name
// describes it, after agentNames.
var guardedNames = []guardRow{
	{"changes how git treats the repository", `.gitattributes .gitmodules .gitconfig .lfsconfig`},

	{"may be run as a git hook", `
		hooks/ .githooks/ githooks/ .git-hooks/ git-hooks/ .husky/ .huskyrc .huskyrc.* husky.config.* .cargo-husky/
		.pre-commit-config.y*ml .pre-commit-hooks.y*ml prek.toml .lefthook/ lefthook.* .lefthook.* lefthook-local.* .lefthook-local.*
		.overcommit.yml .overcommit/ .lintstagedrc .lintstagedrc.* lint-staged.config.* simple-git-hooks.* .simple-git-hooks.* captainhook.json grumphp.yml grumphp.yml.dist hk.pkl`},

	{"CI workflow, or guards the repository", `
		.github/ .gitlab/ .circleci/ .buildkite/ .woodpecker/ .azure-pipelines/ .azuredevops/ .teamcity/ .forgejo/ .gitea/ .semaphore/ .tekton/ .builds/ .zuul.d/ zuul.d/ .dagger/
		jenkinsfile jenkinsfile.* *.jenkinsfile .gitlab-ci.y*ml *.gitlab-ci.y*ml .travis.y*ml circle.yml azure-pipelines*.y*ml .vsts-ci.yml bitbucket-pipelines.yml
		.drone.y*ml .drone.jsonnet .drone.star appveyor.y*ml .appveyor.y*ml .cirrus.y*ml .cirrus.star cloudbuild.y*ml cloudbuild.json buildspec*.y*ml .woodpecker.y*ml .semaphore.yml
		.build.yml .zuul.y*ml zuul.y*ml codefresh.yml wercker.yml shippable.yml dagger.json amplify.yml action.y*ml
		codeowners dependabot.yml renovate.json renovate.json5 .renovaterc .renovaterc.* .mergify.yml .kodiak.toml codecov.y*ml .codecov.y*ml .coveralls.yml sonar-project.properties dangerfile dangerfile.* .codeclimate.yml .snyk
		.goreleaser.y*ml .goreleaser.*.y*ml .releaserc .releaserc.* release-please-config.json
		netlify.toml vercel.json wrangler.toml wrangler.json wrangler.jsonc firebase.json render.yaml railway.json railway.toml heroku.yml nixpacks.toml`},

	{"settings of Ratchet for the runs on this repository", `.ratchet.toml`},

	// Files that a tool runs because it starts in the repository.
	{"runs whenever Python starts", `sitecustomize.py usercustomize.py *.pth`},
	{"sets up the environment that commands run in", `
		.envrc mise.toml .mise.toml mise.*.toml .mise.*.toml mise/config.toml .mise/ .config/mise.toml .config/mise/ mise-tasks/ .mise-tasks/ .rtx.toml .tool-versions .asdfrc .prototools .sdkmanrc
		.java-version .node-version .nvmrc .python-version .ruby-version .go-version .php-version .terraform-version .bazelversion .mill-version
		flake.nix flake.lock *.nix devenv.yaml devenv.lock devbox.json devbox.lock .flox/ guix.scm pixi.toml pixi.lock .pixi/ environment.y*ml conda-lock.yml .autoenv .autoenv.zsh`},
	{"builds or starts the container that commands run in", `
		dockerfile dockerfile.* *.dockerfile containerfile containerfile.* docker-compose*.y*ml compose.y*ml compose.*.y*ml docker-bake.* .devcontainer/ .devcontainer.json devcontainer.json vagrantfile
		skaffold.y*ml tiltfile earthfile garden.yml procfile procfile.* .gitpod.yml .gitpod.dockerfile .replit .codesandbox/ .stackblitzrc .idx/ .ona/`},
	{"run by a shell, a debugger or a tool when it starts", `
		.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin config.fish .inputrc .tmux.conf .screenrc .gdbinit .gdbinit.* .lldbinit .pdbrc .irbrc .pryrc .iex.exs .ghci .ocamlinit
		.rprofile .renviron .psqlrc .sqliterc .mongorc.js .wgetrc .curlrc`},
	{"configures an editor, which may run programs from it", `
		.vscode/ .idea/ .vs/ .fleet/ .zed/ .helix/ *.code-workspace *.sublime-project .vimrc .exrc .nvimrc .nvim.lua .lvimrc .lazy.lua .emacs .emacs.d/ .dir-locals.el`},
	{"configures a package manager, which decides what code is installed", `
		.npmrc .yarnrc .yarnrc.yml .yarn/ .pnpmfile.* pnpmfile.js bunfig.toml .bundle/ pip.conf pip.ini uv.toml poetry.toml .pypirc .condarc .gemrc nuget.config .cargo/ .config/nextest.toml .pip/`},

	// Tests come before builds: some tools read both from one kind of file.
	{"test configuration", `
		conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini noxfile.py nose.cfg .noserc unittest.cfg .coveragerc .testr.conf .stestr.conf behave.ini
		jest.config.* jest.*.config.* jest.preset.* jest.setup.* jest-*.js* jest.*.json setuptests.* setup-tests.* setup-jest.* vitest.config.* vitest.*.config.* vitest.workspace.* vitest.setup.* playwright.config.* playwright.*.config.*
		cypress.config.* cypress.json cypress/support/ cypress/plugins/ karma.conf.* karma.*.js .mocharc .mocharc.* mocha.opts ava.config.* .taprc .nycrc .nycrc.* nyc.config.* .c8rc .c8rc.* wdio.conf.* wdio.*.conf.*
		protractor.conf.* testem.js testem.json nightwatch.conf.* nightwatch.json cucumber.js cucumber.json cucumber.mjs jasmine.json web-test-runner.config.* .testcaferc.*
		.rspec spec_helper.rb rails_helper.rb test_helper.rb .simplecov cucumber.yml features/support/ test_helper.exs phpunit.xml phpunit.xml.dist phpunit.dist.xml pest.php phpspec.yml phpspec.yml.dist behat.yml behat.yml.dist
		codeception.yml infection.json infection.json5 tests/bootstrap.php test/bootstrap.php testng.xml junit-platform.properties meta-inf/services/org.junit.* *.runsettings xunit.runner.json *.xctestplan
		dart_test.yaml flutter_test_config.dart .proverc .busted nextest.toml tarpaulin.toml .gotestsum.*`},

	{"decides what code is installed", `
		node_modules/ bower_components/ site-packages/ .venv/ venv/ go.sum go.work.sum vendor/modules.txt package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock cargo.lock gemfile gemfile.lock gems.rb gems.locked
		pipfile pipfile.lock poetry.lock pdm.lock uv.lock requirements*.txt requirements*.in requirements/*.txt requirements/*.in constraints*.txt composer.json composer.lock mix.lock rebar.lock pubspec.lock pubspec_overrides.yaml
		podfile podfile.lock cartfile cartfile.* package.resolved packages.lock.json packages.config gradle.lockfile *.lockfile libs.versions.toml verification-metadata.xml cpanfile cpanfile.snapshot renv.lock brewfile mintfile
		conanfile.py conanfile.txt vcpkg.json module.bazel.lock cabal.project.freeze stack.yaml.lock *.rockspec shard.lock`},

	{"part of the build that the checks run", `
		makefile gnumakefile bsdmakefile makefile.* *.mk *.mak *.make configure configure.ac configure.in *.m4 cmakelists.txt *.cmake cmakepresets.json cmakeuserpresets.json meson.build meson.options meson_options.txt
		sconstruct sconscript wscript waf *.ninja premake*.lua xmake.lua tupfile tuprules.tup *.gyp *.gypi *.qbs *.vcxproj *.bp *.gpr
		build build.bazel workspace workspace.bazel workspace.bzlmod module.bazel *.bzl .bazelrc *.bazelrc .bazeliskrc bazelisk.rc buck .buckconfig .buckroot pants.toml pants.ini .plzconfig
		justfile .justfile *.just taskfile.y*ml taskfile.*.y*ml magefile.go magefiles/ rakefile rakefile.rb *.rake thorfile guardfile capfile fastfile fastlane/ appraisals *.gemspec
		package.json package.json5 package.yaml pnpm-workspace.yaml lerna.json nx.json project.json turbo.json rush.json .moon/ moon.yml wireit.json deno.json deno.jsonc import_map.json
		tsconfig.json tsconfig.*.json jsconfig.json .swcrc .babelrc .babelrc.* babel.config.* .parcelrc angular.json ember-cli-build.js gatsby-*.js gatsby-*.ts nodemon.json config-overrides.js .postcssrc .postcssrc.* gulpfile.* gruntfile.* jakefile jakefile.*
		vite.config.* webpack.config.* webpack.*.js webpack.*.ts rollup.config.* esbuild.config.* metro.config.* truffle-config.js foundry.toml remappings.txt
		setup.py setup.cfg pyproject.toml manifest.in hatch.toml hatch_build.py pdm_build.py build.py fabfile.py dodo.py manifest.scm
		go.mod go.work .air.toml buf.gen*.yaml cargo.toml build.rs rust-toolchain rust-toolchain.toml cross.toml
		pom.xml .mvn/ mvnw mvnw.cmd gradlew gradlew.bat *.gradle *.gradle.kts gradle.properties gradle/wrapper/ buildsrc/ build-logic/ build.xml ivy.xml *.sbt project/build.properties .jvmopts .sbtopts build.sc build.mill
		deps.edn project.clj profiles.clj shadow-cljs.edn bb.edn lombok.config
		*.csproj *.fsproj *.vbproj *.proj *.sln *.slnx *.props *.targets global.json dotnet-tools.json *.cake
		package.swift *.xcconfig project.pbxproj *.xcscheme *.podspec project.yml pubspec.yaml build.yaml melos.yaml
		mix.exs rebar.config rebar.config.script *.cabal cabal.project cabal.project.* stack.yaml setup.hs hie.yaml dune dune-project dune-workspace *.opam *.nimble nim.cfg *.nims build.zig build.zig.zon
		project.toml manifest.toml makefile.pl build.pl dist.ini makevars makevars.* dub.json dub.sdl shard.yml v.mod elm.json spago.yaml spago.dhall packages.dhall fpm.toml info.rkt *.asd debian/ pkgbuild snapcraft.yaml`},

	{"configures a linter or formatter, which may load programs", `
		.eslintrc .eslintrc.* eslint.config.* .prettierrc .prettierrc.* .stylelintrc .stylelintrc.* .commitlintrc .commitlintrc.* .remarkrc .remarkrc.* .markdownlint.* .markdownlint-cli2.* biome.json biome.jsonc .oxlintrc.json .xo-config*
		.size-limit.* plopfile.* .golangci.y*ml .golangci.toml .golangci.json .flake8 .pylintrc pylintrc mypy.ini .mypy.ini ruff.toml .ruff.toml pyrightconfig.json .isort.cfg .bandit .clang-tidy clippy.toml .clippy.toml rustfmt.toml .rustfmt.toml deny.toml
		.rubocop.yml .rubocop_todo.yml .standard.yml phpstan.neon phpstan.neon.dist phpstan.dist.neon psalm.xml psalm.xml.dist rector.php .php-cs-fixer.php .php-cs-fixer.dist.php phpcs.xml phpcs.xml.dist php.ini .user.ini
		checkstyle.xml spotbugs*.xml detekt.y*ml .scalafmt.conf .scalafix.conf .swiftlint.yml analysis_options.yaml .credo.exs .formatter.exs .luacheckrc .perlcriticrc .perltidyrc .shellcheckrc .yamllint .hadolint.yaml .trunk/ .arclint .arcconfig .pre-commit.*`},

	{"loaded as a program by JavaScript tools", `
		*.config.js *.config.cjs *.config.mjs *.config.ts *.config.cts *.config.mts .*rc.js .*rc.cjs .*rc.mjs .*rc.ts .*rc.cts .*rc.mts .storybook/`},

	{"may hold secrets", `
		.env .env.* *.env .netrc _netrc kubeconfig credentials credentials.json .git-credentials secrets.yml secrets.yaml secrets.json service-account.json id_rsa id_dsa id_ecdsa id_ed25519 authorized_keys
		.htpasswd .dockercfg .pgpass .my.cnf .vault-token terraform.tfstate .aws/ .ssh/ .gnupg/ .kube/ .docker/ .azure/ .gcloud/ secrets/
		*.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.ovpn *.tfvars *.tfstate`},

	{"it may contain the records of runs", `.runs/`},
}

// guard is one pattern of guardedNames.
type guard struct {
	parts []string // folded
	dir   bool     // the last part is a directory above the name
	what  string
}

var (
	agentGuards = compileGuards(agentNames)
	guards      = slices.Concat(agentGuards, compileGuards(guardedNames))
)

// compileGuards parses the patterns of rows.
func compileGuards(rows []guardRow) []guard {
	var all []guard
	for _, row := range rows {
		for _, pattern := range strings.Fields(row.patterns) {
			name, dir := strings.CutSuffix(foldCase(pattern), "/")
			all = append(all, guard{strings.Split(name, "/"), dir, row.what})
		}
	}
	return all
}

// guardedAs returns the description of a name that needs a person's approval, or "" if it needs none.
func guardedAs(name string) string {
	parts := strings.Split(foldCase(name), "/")
	i := slices.IndexFunc(guards, func(g guard) bool { return g.coversName(parts) })
	if i < 0 {
		return ""
	}
	return guards[i].what
}

// FollowedByAgents reports whether agents follow, or load, a file or a directory for its name, wherever it lies. A name
// with any text put before it is another one: no agent follows it.
func FollowedByAgents(name string) bool {
	parts := []string{foldCase(name)}
	return slices.ContainsFunc(agentGuards, func(g guard) bool { return g.matchesParts(parts) })
}

// coversName reports whether g matches the name with these parts.
func (g guard) coversName(parts []string) bool {
	if !g.dir {
		return len(parts) >= len(g.parts) && g.matchesParts(parts[len(parts)-len(g.parts):])
	}
	for i := range len(parts) - len(g.parts) {
		if g.matchesParts(parts[i : i+len(g.parts)]) {
			return true
		}
	}
	return false
}

// matchesParts reports whether each part of g matches the part of the name at its index.
func (g guard) matchesParts(parts []string) bool {
	for i, pattern := range g.parts {
		if pattern == parts[i] {
			continue
		}
		if pattern[0] != '*' && pattern[0] != parts[i][0] || !strings.Contains(pattern, "*") {
			return false // the fast way out for most patterns
		}
		if ok, err := path.Match(pattern, parts[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
