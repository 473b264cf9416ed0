package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The exit codes with which a shell says that it could not start a program. A script, env, xargs or npm returns them
// in turn.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

var (
	// notStarted is a line in which a shell, env or the dynamic linker names the missing program or file.
	notStarted = regexp.MustCompile(`(?im)^.*(?:not found|no such file or directory|permission denied|cannot execute|exec format error|bad interpreter|shared libraries|is a directory).*$`)
	// makeGaveUp is make's own line about a recipe that ended with such a code; make itself exits with 2.
	makeGaveUp = regexp.MustCompile(`(?m)^g?make(?:\[\d+\])?: \*\*\* .*\bError 12[67]$`)
	// noModule is the last line of python -m for a tool that is not installed. It lists only tools, because the fixer
	// can write a module of the repository itself.
	noModule = regexp.MustCompile(`^\S*python[\d.]*(?:\.exe)?: No module named '?(?:pytest|tox|nox|mypy|ruff|flake8|pylint|black|coverage|build|pip|poetry|hatch)'?$`)
)

// cannotRun returns why a command that ended with exitCode could not run at all. It returns "" if the
// command ran and failed.
func cannotRun(exitCode int, text string) string {
	switch {
	case exitCode == exitNotFound:
		return explainMissing(exitCode, "a program is missing", text)
	case exitCode == exitNotExecutable:
		return explainMissing(exitCode, "a program cannot be executed", text)
	case exitCode == 2 && makeGaveUp.MatchString(text):
		return explainMissing(exitCode, "make could not start a program", text)
	case exitCode == 1 && noModule.MatchString(lastLine(text)):
		return lastLine(text)
	case ranNoTest(exitCode, text):
		return fmt.Sprintf("it ran no test (exit code %d): %s", exitCode, firstRunes(strings.TrimSpace(noTest.FindString(text)), digestLength))
	}
	return ""
}

// noTest is how test runners say that they found no test and fail for that: pytest and unittest, jest, vitest, mocha,
// Playwright, ava, bun, deno, PHPUnit, gradle, maven, ctest.
var noTest = regexp.MustCompile(`(?m)^.*(?:no tests ran in |NO TESTS RAN|No tests found, exiting with code 1|No test files found|No test suite found|Error: No tests found|Couldn't find any files to test` +
	`|did not match any test files|No test modules found|No tests executed!|No tests found for given includes|No tests were executed!|No tests were found!!!).*$`)

// noTestCodes are the exit codes of these runners: 2 is make's, for the runner that it started, 8 is ctest's.
var noTestCodes = []int{1, 2, 5, 8}

// ranNoTest reports whether a test runner failed because it found no test.
func ranNoTest(exitCode int, text string) bool {
	return slices.Contains(noTestCodes, exitCode) && noTest.MatchString(text) && !otherFailure.MatchString(text)
}

// otherFailure is a line about tests that did run.
var otherFailure = regexp.MustCompile(`(?m)^.*(?:\b[1-9]\d* (?:failed|passed|failing|passing|errors?)\b|^Ran [1-9]\d* tests?).*$`)

// noSanitizer is how the leak sanitizer says that it cannot stop the other threads of its program, which the box forbids.
var noSanitizer = regexp.MustCompile(`LeakSanitizer has encountered a fatal error`)

// returns is how a shell and env name a program whose name ends in a carriage return.
var returns = regexp.MustCompile(`\r(?:'|:)|\^M|(?m)^.*/?(?:gradlew|mvnw)[^\n]*: (?:not found|No such file or directory)`)

// download is how a package manager says that it could not reach what it wants to download, and how the user
// can give it to the checks.
type download struct {
	says   *regexp.Regexp
	remedy string
}

// downloads are the package managers. Each expression fits a line that the manager itself writes: a test of
// the repository that misses a network of its own is no missing package.
var downloads = []download{
	{regexp.MustCompile(`(?m)^.*(?:\.go:\d+:\d+|\bgo(?:: [^\n]*)?): .*(?:Get|reading) "?https?://[^\n]*(?:lookup |dial |proxyconnect |Forbidden|connect: ).*$|^.*module lookup disabled by GOPROXY=off.*$`), "go mod download|registry:go"},
	{regexp.MustCompile(`(?m)^npm (?:ERR!|error) (?:code (?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENOTCACHED|ENETUNREACH)|network request to).*$`), "npm ci|registry:npm"},
	{regexp.MustCompile(`(?m)^.*(?:ERR_PNPM_(?:META_FETCH_FAIL|NO_OFFLINE_TARBALL|NO_OFFLINE_META|FETCH_\w+)|GET https://registry\S* error \((?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED)\)).*$`), "pnpm fetch|registry:npm"},
	{regexp.MustCompile(`(?m)^.*(?:There appears to be trouble with your network connection|YN\d+: .*RequestError: getaddrinfo).*$`), "yarn install|registry:npm"},
	{regexp.MustCompile(`(?m)^.*(?:WARNING: Retrying \(Retry\(|ERROR: No matching distribution found for|error: Failed to fetch: .https?://).*$`), "uv sync, or an install by pip,|registry:pip"},
	{regexp.MustCompile(`(?m)^.*(?:warning: spurious network error|error: failed to (?:get .* as a dependency|download from)|failed to fetch .https://|Could(?: not|n't) resolve host: (?:static|index)\.crates\.io).*$`), "cargo fetch|registry:cargo"},
	{regexp.MustCompile(`(?m)^.*(?:Could not transfer artifact|Unknown host repo\.maven\.apache\.org|Cannot access \S+ \(https?://[^)]*\) in offline mode).*$`), "mvn dependency:go-offline|repo.maven.apache.org:443"},
	{regexp.MustCompile(`(?m)^.*(?:> Could not (?:GET|HEAD|resolve) 'https?://|No cached version of .* available for offline mode|Downloading https://services\.gradle\.org).*$`), "a build by gradle|services.gradle.org:443 and your repositories"},
}

// wantsDownload returns why a command that failed without a network could not run: it wanted to download a
// package. It returns "" for every other failure.
func wantsDownload(text string) string {
	for _, d := range downloads {
		line := d.says.FindString(text)
		if line == "" {
			continue
		}
		command, network, _ := strings.Cut(d.remedy, "|")
		return fmt.Sprintf("it needs a download that no cache has, but checks have no network: run %s here yourself, or start the run with --check-network %s: %s",
			command, network, firstRunes(strings.TrimSpace(line), digestLength))
	}
	return ""
}

// explainMissing returns the reason with the line that names the program, if there is one.
func explainMissing(exitCode int, what, text string) string {
	reason := fmt.Sprintf("%s (exit code %d)", what, exitCode)
	if lines := notStarted.FindAllString(text, -1); len(lines) > 0 {
		reason += ": " + firstRunes(strings.TrimSpace(lines[len(lines)-1]), digestLength)
		if returns.MatchString(lines[len(lines)-1]) {
			reason += "; perhaps the lines of a script end in CR LF"
		}
	}
	return reason
}

// lastLine returns the last line of text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
