package check

import "testing"

func TestCannotRun(t *testing.T) {
	for name, test := range map[string]struct {
		exitCode int
		text     string
		want     string
	}{
		"dash":                        {127, "/bin/sh: 1: foo: not found\n", "a program is missing (exit code 127): /bin/sh: 1: foo: not found"},
		"bash":                        {127, "x\nbash: line 1: foo: command not found\n", "a program is missing (exit code 127): bash: line 1: foo: command not found"},
		"npm without its modules":     {127, "> test\n> jest\n\nsh: 1: jest: not found\n", "a program is missing (exit code 127): sh: 1: jest: not found"},
		"a shared library":            {127, "./x: error while loading shared libraries: libz.so: cannot open\n", "a program is missing (exit code 127): ./x: error while loading shared libraries: libz.so: cannot open"},
		"the last of several lines":   {127, "a: not found\nb: not found\nbye\n", "a program is missing (exit code 127): b: not found"},
		"no explanation":              {126, "", "a program cannot be executed (exit code 126)"},
		"make without its program":    {2, "make: foo: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", "make could not start a program (exit code 2): make: foo: No such file or directory"},
		"make inside make":            {2, "sh: 1: foo: not found\nmake[1]: *** [Makefile:2: test] Error 127\nmake: *** [Makefile:5: all] Error 2\n", "make could not start a program (exit code 2): sh: 1: foo: not found"},
		"make with failed tests":      {2, "make: *** [Makefile:2: test] Error 1\n", ""},
		"make's line in another tool": {1, "make: *** [Makefile:2: test] Error 127\n", ""},
		"python without pytest":       {1, "/usr/bin/python3: No module named pytest\n", "/usr/bin/python3: No module named pytest"},
		"a module of the repository":  {1, "/usr/bin/python3: No module named calc.selftest\n", ""},
		"a failed import in a test":   {1, "E   ModuleNotFoundError: No module named 'pytest'\n", ""},
		"not found in a failing test": {1, "page: not found\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cannotRun(test.exitCode, test.text); got != test.want {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}
