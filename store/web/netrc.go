package web

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// login returns the user and password for a host in the file that curl, Git and Python's
// requests read: NETRC, or ~/.netrc.
func login(host string) (user, password string, ok bool) {
	for _, m := range machines() {
		if m.name == host || m.name == "" {
			return m.login, m.password, true
		}
	}
	return "", "", false
}

type machine struct{ name, login, password string } // no name: all others

// machines reads the file once.
var machines = sync.OnceValue(func() []machine {
	at := os.Getenv("NETRC")
	if home, err := os.UserHomeDir(); at == "" && err == nil {
		at = filepath.Join(home, ".netrc")
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return nil
	}
	return parseNetrc(string(text))
})

func parseNetrc(text string) (all []machine) {
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		next := func() string {
			if i++; i < len(words) {
				return words[i]
			}
			return ""
		}
		var last *machine
		if len(all) > 0 {
			last = &all[len(all)-1]
		}
		switch word := words[i]; {
		case word == "machine":
			all = append(all, machine{name: next()})
		case word == "default":
			all = append(all, machine{})
		case word == "macdef":
			return all // macros are last in practice, and nothing here
		case last == nil:
		case word == "login":
			last.login = next()
		case word == "password":
			last.password = next()
		}
	}
	return all
}
