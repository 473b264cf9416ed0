package git

import (
	"os"
	"slices"
	"strings"
)

// Network is the right of a git to reach one server. Package remote alone makes one.
type Network struct {
	Protocol string      // the only one that git may use, such as https
	Config   [][2]string // settings that join those of this package
	// Operator gives git the environment and the configuration of the worker's user, where credential helpers, keys and
	// proxies are. Otherwise git sees the variables of proxies and certificates alone.
	Operator bool
}

// On returns the repository with the right to reach a server. Its gits have no terminal to ask at.
func (r Repo) On(n Network) Repo {
	r.network = &n
	r.overrides = slices.Concat(r.overrides, n.Config)
	return r
}

// proxies are the variables by which git finds a proxy and trusts a server.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// operatorOwn are the settings that an operator's git has from its own configuration.
var operatorOwn = []string{"credential.helper", "core.sshCommand"}

// operatorVariables are the variables of git's that an operator may set. They say how a server is reached; others say
// where a repository is.
var operatorVariables = []string{
	"GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY",
	"GIT_PROXY_SSL_CAINFO", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
}

// operatorEnviron returns the environment of this process without git's variables that say where a repository is.
func operatorEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(operatorVariables, name)
	})
}

// Served returns the command by which git serves a repository on this machine to a program such as receive-pack. No
// setting and no hook of that repository starts a program.
func Served(program string) string {
	words := []string{"git"}
	for _, s := range append(slices.Clone(settings), [2]string{"core.alternateRefsCommand", "false"}, [2]string{"receive.autogc", "false"}) {
		words = append(words, "-c", "'"+s[0]+"="+s[1]+"'")
	}
	return strings.Join(append(words, program), " ")
}
