package command_test

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the program that the provider asks: this binary, called
// with the name of a behaviour.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "behave" {
		behaviours[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func behave(name string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{self, "behave", name}, args...)
}

var behaviours = map[string]func(args []string){
	// print FILE: the answer is in a file; standard input is never read.
	"print": func(args []string) { printFile(args[0]) },
	"print, then hang": func(args []string) {
		printFile(args[0])
		time.Sleep(time.Hour)
	},
	"print, then hang whatever SIGTERM says": func(args []string) {
		signal.Ignore(syscall.SIGTERM)
		printFile(args[0])
		time.Sleep(time.Hour)
	},
	"print, then exit": func(args []string) {
		printFile(args[0])
		fmt.Fprintln(os.Stderr, "the model is \x1b[31mgone\x1b[0m")
		code, _ := strconv.Atoi(args[1])
		os.Exit(code)
	},
	"print, then die": func(args []string) {
		printFile(args[0])
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	},
	"close standard input": func(args []string) {
		os.Stdin.Close()
		printFile(args[0])
	},
	"repeat the request": func([]string) { io.Copy(os.Stdout, os.Stdin) },
	"environment": func([]string) {
		env := os.Environ()
		slices.Sort(env)
		fmt.Print(strings.Join(env, "\n"))
	},
	"working directory": func([]string) {
		dir, _ := os.Getwd()
		fmt.Print(dir)
	},
	"flood": func([]string) {
		line := []byte(strings.Repeat("y\n", 1<<15))
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(1)
			}
		}
	},
	"flood standard error": func([]string) {
		fmt.Fprintln(os.Stderr, "first words")
		line := []byte(strings.Repeat("noise\n", 1<<15))
		for range 40 {
			os.Stderr.Write(line)
		}
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(1)
	},
	// leak NAME: the value of a variable, in every place that is recorded.
	"leak": func(args []string) {
		secret := os.Getenv(args[0])
		var escaped strings.Builder
		for _, r := range secret {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
		fmt.Fprintf(os.Stderr, "key %s refused\n", secret)
		fmt.Printf(`{"rawText": "it is %s or %s", "error": {"code": "AUTH", "message": "not %s, not %s"}}`, secret, &escaped, secret, &escaped)
		os.Exit(1)
	},
}

func printFile(name string) {
	f, err := os.Open(name)
	if err != nil {
		os.Exit(9)
	}
	io.Copy(os.Stdout, f)
	f.Close()
}
