package check

import "testing"

func TestCannotRun(t *testing.T) {
	for name, test := range map[string]struct {
		exitCode int
		text     string
		want     string
	}{
		"dash":                           {127, "/bin/sh: 1: foo: not found\n", "a program is missing (exit code 127): /bin/sh: 1: foo: not found"},
		"bash":                           {127, "x\nbash: line 1: foo: command not found\n", "a program is missing (exit code 127): bash: line 1: foo: command not found"},
		"npm without its modules":        {127, "> test\n> jest\n\nsh: 1: jest: not found\n", "a program is missing (exit code 127): sh: 1: jest: not found"},
		"a shared library":               {127, "./x: error while loading shared libraries: libz.so: cannot open\n", "a program is missing (exit code 127): ./x: error while loading shared libraries: libz.so: cannot open"},
		"the last of several lines":      {127, "a: not found\nb: not found\nbye\n", "a program is missing (exit code 127): b: not found"},
		"no explanation":                 {126, "", "a program cannot be executed (exit code 126)"},
		"make without its program":       {2, "make: foo: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", "make could not start a program (exit code 2): make: foo: No such file or directory"},
		"make inside make":               {2, "sh: 1: foo: not found\nmake[1]: *** [Makefile:2: test] Error 127\nmake: *** [Makefile:5: all] Error 2\n", "make could not start a program (exit code 2): sh: 1: foo: not found"},
		"make with failed tests":         {2, "make: *** [Makefile:2: test] Error 1\n", ""},
		"make's line in another tool":    {1, "make: *** [Makefile:2: test] Error 127\n", ""},
		"python without pytest":          {1, "/usr/bin/python3: No module named pytest\n", "/usr/bin/python3: No module named pytest"},
		"a module of the repository":     {1, "/usr/bin/python3: No module named calc.selftest\n", ""},
		"a failed import in a test":      {1, "E   ModuleNotFoundError: No module named 'pytest'\n", ""},
		"carriage returns":               {127, "env: 'sh\\r': No such file or directory\nenv: 'sh\r': No such file or directory\n", "a program is missing (exit code 127): env: 'sh\r': No such file or directory; perhaps the lines of a script end in CR LF"},
		"pytest without tests":           {5, "collected 0 items\n\n===== no tests ran in 0.01s =====\n", "it ran no test (exit code 5): ===== no tests ran in 0.01s ====="},
		"unittest without tests":         {5, "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", "it ran no test (exit code 5): NO TESTS RAN"},
		"jest without tests":             {1, "No tests found, exiting with code 1\nRun with `--passWithNoTests`\n", "it ran no test (exit code 1): No tests found, exiting with code 1"},
		"vitest without tests":           {1, "No test files found, exiting with code 1\n", "it ran no test (exit code 1): No test files found, exiting with code 1"},
		"pytest without tests in make":   {2, "=== no tests ran in 0.01s ===\nmake: *** [Makefile:2: test] Error 5\n", "it ran no test (exit code 2): === no tests ran in 0.01s ==="},
		"mocha without tests":            {1, "Error: No test files found: \"test\"\n", "it ran no test (exit code 1): Error: No test files found: \"test\""},
		"playwright without tests":       {1, "Error: No tests found\n", "it ran no test (exit code 1): Error: No tests found"},
		"ava without tests":              {1, "  ✘ Couldn't find any files to test\n", "it ran no test (exit code 1): ✘ Couldn't find any files to test"},
		"deno without tests":             {1, "error: No test modules found\n", "it ran no test (exit code 1): error: No test modules found"},
		"PHPUnit without tests":          {1, "PHPUnit 11.0\n\nNo tests executed!\n", "it ran no test (exit code 1): No tests executed!"},
		"gradle without tests":           {1, "> No tests found for given includes: [x](--tests filter)\n", "it ran no test (exit code 1): > No tests found for given includes: [x](--tests filter)"},
		"ctest without tests":            {8, "No tests were found!!!\n", "it ran no test (exit code 8): No tests were found!!!"},
		"jest of several with a failure": {1, "No tests found, exiting with code 1\nTests: 1 failed, 3 total\n", ""},
		"one of several without":         {1, "no tests ran in 0.01s\n=== 1 failed, 2 passed in 1s ===\n", ""},
		"not found in a failing test":    {1, "page: not found\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cannotRun(test.exitCode, test.text); got != test.want {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}
