package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// identity has the token for requests. The first of these that exists gives it:
//
//   - the file of GOOGLE_APPLICATION_CREDENTIALS: a key, or a federation
//   - the user that gcloud auth application-default login has written down
//   - the service account of the machine, or of the pod
//
// Without any, requests have no token, which is enough for public buckets.
type identity struct {
	giver *store.Giver // nil: as above

	turn   steady.Turn // guards what is below
	tokens oauth2.TokenSource
	from   string // the source, for messages
	failed error
	until  time.Time // when credentials are looked for again, if there are none
}

const (
	scope     = "https://www.googleapis.com/auth/devstorage.read_write"
	mostToken = 30 * time.Second // a service may hang
	lookAgain = 5 * time.Minute  // if there are none
	keepError = 5 * time.Second  // for all readers that wait
)

func newIdentity(none bool, by string) *identity {
	if off, _ := strconv.ParseBool(os.Getenv("CLOUDSDK_AUTH_DISABLE_CREDENTIALS")); off {
		none, by = true, "CLOUDSDK_AUTH_DISABLE_CREDENTIALS"
	}
	i := &identity{turn: steady.NewTurn()}
	if none {
		i.from, i.until = "none: "+by+" is set", time.Now().AddDate(100, 0, 0)
	}
	return i
}

// get returns the token, and its source; nil: there is none. It is renewed before it
// expires.
func (i *identity) get(ctx context.Context) (*oauth2.Token, string, error) {
	if err := i.turn.Take(ctx); err != nil {
		return nil, "", err
	}
	if time.Now().Before(i.until) {
		defer i.turn.Give()
		return nil, i.from, i.failed
	}

	// Google's library does not end with a context. The turn is given back when it has
	// ended, for the readers that wait for theirs.
	type found struct {
		token *oauth2.Token
		from  string
		err   error
	}
	c := make(chan found, 1)
	go func() {
		defer i.turn.Give()
		t, err := i.fetch()
		i.told(t, err)
		c <- found{t, i.from, err}
	}()
	select {
	case f := <-c:
		return f.token, f.from, f.err
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
}

// given has the tokens for the reads of a loader that gives its credentials.
type given struct {
	*store.Giver
	has   *oauth2.Token
	until time.Time // when the next one is asked for
}

// Token implements [oauth2.TokenSource].
func (g *given) Token() (*oauth2.Token, error) {
	now := time.Now()
	if g.has != nil && (g.until.IsZero() || now.Before(g.until)) {
		return g.has, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), mostToken)
	defer cancel()
	is, err := g.Ask(ctx, "gs")
	switch {
	case err != nil && g.has != nil && now.Before(g.has.Expiry):
		return g.has, nil // it is good for a while
	case err != nil:
		return nil, err
	case is.Values["Token"] == "":
		return nil, errors.New("must have Token, and Expiration if it expires")
	}
	g.has, g.until = &oauth2.Token{AccessToken: is.Values["Token"], Expiry: is.Until}, is.Renewal(now)
	return g.has, nil
}

// told keeps for a while that there is no token.
func (i *identity) told(t *oauth2.Token, err error) {
	switch i.failed = err; {
	case err != nil:
		i.until = time.Now().Add(keepError)
	case t == nil:
		i.until = time.Now().Add(lookAgain)
	}
}

// fetch returns a token; nil: there are no credentials.
func (i *identity) fetch() (*oauth2.Token, error) {
	if i.tokens == nil {
		if err := i.search(); err != nil || i.tokens == nil {
			return nil, err
		}
	}
	t, err := i.tokens.Token()
	if err == nil {
		return t, nil
	}
	var told *oauth2.RetrieveError // its text has the whole answer
	if errors.As(err, &told) {
		var why struct {
			Error       string
			Description string `json:"error_description"`
		}
		json.Unmarshal(told.Body, &why)
		return nil, fmt.Errorf("gcs: no token comes of %s: %s %s: renew it, or gcloud auth application-default login",
			i.from, why.Error, why.Description)
	}
	return nil, fmt.Errorf("gcs: no token comes of %s: %w", i.from, err)
}

func (i *identity) search() error {
	if i.giver != nil {
		i.tokens, i.from = &given{Giver: i.giver}, store.FromGiver
		return nil
	}
	// The context is for all requests to come, and only has their client.
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: mostToken})
	file, from := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"), "GOOGLE_APPLICATION_CREDENTIALS"
	if file == "" {
		file, from = userFile(), "gcloud auth application-default login"
	}
	_, missing := os.Stat(file)
	if missing != nil && from == "GOOGLE_APPLICATION_CREDENTIALS" {
		return fmt.Errorf("gcs: the file of %s: %w", from, missing)
	}
	c, err := google.FindDefaultCredentials(ctx, scope)
	switch {
	case err != nil && missing == nil:
		return fmt.Errorf("gcs: the credentials of %s: %w", from, err)
	case err != nil:
		i.from = "none: tried GOOGLE_APPLICATION_CREDENTIALS, gcloud auth application-default login, the account of the machine"
		return nil
	case missing != nil:
		from = "the account of the machine"
	}
	i.tokens, i.from = c.TokenSource, from
	return nil
}

// userFile is the file of the user's credentials.
func userFile() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
}

// renew has credentials looked for again, unless that has happened since a token was
// given. It returns whether there may be others.
func (i *identity) renew(ctx context.Context, t *oauth2.Token) bool {
	if i.turn.Take(ctx) != nil {
		return false
	}
	defer i.turn.Give()
	if i.tokens == nil || t == nil {
		return false
	}
	if now, err := i.tokens.Token(); err == nil && now.AccessToken == t.AccessToken {
		i.tokens = nil
	}
	return true
}
