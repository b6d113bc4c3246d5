package hub

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/headrace/headrace/store/steady"
)

// missing tells whether an answer says that a repository is there, and a file is not.
func missing(err error) bool {
	var r *steady.Refusal
	return errors.As(err, &r) && r.Header.Get("X-Error-Code") == "EntryNotFound"
}

// explained says what an answer of the Hub means, and what to do about it.
func (s *settings) explained(err error, r repo) error {
	var refusal *steady.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	code := refusal.Header.Get("X-Error-Code")
	token, from := s.token()
	say := func(format string, args ...any) error {
		if code == "" {
			return fmt.Errorf("%s (%w)", fmt.Sprintf(format, args...), err)
		}
		return fmt.Errorf("%s (%w, %s)", fmt.Sprintf(format, args...), err, code)
	}
	page := s.scheme + "://" + s.host + s.base + r.page()
	login := "hf auth login, or set HF_TOKEN (" + from + ")"
	if token != "" {
		login = "the token, which is of " + from + ", needs the right to read it"
	}

	// The Hub says 401 of what is missing, so that nobody learns of private names.
	isSecret := refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden
	isInvalid := strings.Contains(refusal.Header.Get("X-Error-Message"), "Invalid credentials")
	switch {
	case isInvalid && token != "":
		return say("the token is not valid at %s: see %s", s.host, from)
	case code == "GatedRepo":
		return say("access to the %s is granted one by one: ask for it at %s, then %s", r, page, login)
	case code == "RevisionNotFound":
		return say("the %s %s has no branch, tag or commit %q: see %s", strings.TrimSuffix(r.kind, "s"), r.id, r.revision, page)
	case code == "EntryNotFound":
		return err
	case isSecret, code == "RepoNotFound":
		return say("there is no %s at %s, or it is private: check its name and kind; if it is private, %s", r, s.host, login)
	case refusal.Status == http.StatusNotFound:
		return err
	}
	return say("%s refuses the request", s.host)
}
