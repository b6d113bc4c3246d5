package azure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// identity has the token for requests, if there is neither a key nor a SAS. The first of
// these that has one gives it:
//
//   - the application of AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or
//     another of azidentity's variables
//   - the federation of AZURE_FEDERATED_TOKEN_FILE, as in Kubernetes
//   - the managed identity of the machine
//   - the user of az login, and of Microsoft's other programs
//
// Without any, requests have no token, which is enough for public containers.
type identity struct {
	begin func() (azcore.TokenCredential, error)
	must  string // the source that must have a token; "": one may

	turn   steady.Turn // guards what is below
	has    azcore.TokenCredential
	token  string
	from   string
	failed error
	until  time.Time // when it is looked for again
	good   time.Time // until when the token is
}

const (
	scope     = "https://storage.azure.com/.default"
	earlier   = 5 * time.Minute  // than it expires, a token is renewed
	lookAgain = 5 * time.Minute  // if there is none
	mostToken = 60 * time.Second // a program, or a service, may hang
	keepError = 5 * time.Second  // for all readers that wait

	nothing = "none: tried AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID, the managed identity, az login"
)

func newIdentity(anonymous bool) *identity {
	i := &identity{turn: steady.NewTurn()}
	if anonymous {
		i.from, i.until = "none: AZURE_STORAGE_ANON is set", time.Now().AddDate(100, 0, 0)
		return i
	}
	i.begin = func() (azcore.TokenCredential, error) { return azidentity.NewDefaultAzureCredential(nil) }
	if os.Getenv(application) != "" {
		i.must = application
	}
	return i
}

const application = "AZURE_CLIENT_ID"

// given has the tokens for the reads of a loader that gives its credentials.
type given struct{ *store.Giver }

func newGiven(g *store.Giver) *identity {
	return &identity{turn: steady.NewTurn(), must: store.FromGiver,
		begin: func() (azcore.TokenCredential, error) { return given{g}, nil }}
}

// GetToken implements [azcore.TokenCredential].
func (g given) GetToken(ctx context.Context, _ policy.TokenRequestOptions) (azcore.AccessToken, error) {
	is, err := g.Ask(ctx, "az")
	if err == nil && is.Values["Token"] == "" {
		err = errors.New("must have Token, and Expiration if it expires")
	}
	if is.Until.IsZero() {
		is.Until = time.Now().AddDate(1, 0, 0)
	}
	return azcore.AccessToken{Token: is.Values["Token"], ExpiresOn: is.Until}, err
}

// get returns the token, and its source; none: there is none.
func (i *identity) get(ctx context.Context) (token, from string, err error) {
	if err := i.turn.Take(ctx); err != nil {
		return "", "", err
	}
	defer i.turn.Give()
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case !time.Now().Before(i.until):
		i.failed = i.fetch(ctx)
	}
	if i.failed != nil {
		return "", "", i.failed
	}
	return i.token, i.from, nil
}

// fetch fetches a token, and says until when it, or the error, is told.
func (i *identity) fetch(ctx context.Context) (err error) {
	// It may run a program, or ask a service: neither must hold a reader for ever.
	if i.has == nil {
		if i.has, err = i.begin(); err != nil {
			i.until = time.Now().Add(keepError)
			return fmt.Errorf("azure: %s", gist(err))
		}
	}
	limited, cancel := context.WithTimeout(ctx, mostToken)
	defer cancel()
	t, err := i.has.GetToken(limited, policy.TokenRequestOptions{Scopes: []string{scope}})

	now := time.Now()
	switch {
	case err == nil:
		left := t.ExpiresOn.Sub(now)
		i.token, i.from, i.until, i.good = t.Token, "azidentity", now.Add(max(left-earlier, left/2)), t.ExpiresOn
		if i.must != "" {
			i.from = i.must
		}
	case ctx.Err() != nil: // which is of this reader alone
		return ctx.Err()
	case i.token != "" && now.Before(i.good):
		i.until = now.Add(keepError) // the one of before does meanwhile
	case i.must != "":
		i.until = now.Add(keepError)
		return fmt.Errorf("azure: no token comes for %s: %s", i.must, gist(err))
	default:
		i.token, i.from, i.until = "", nothing, now.Add(lookAgain)
	}
	return nil
}

// renew has a token looked for again, if it is this one. It returns whether there may be
// another one.
func (i *identity) renew(ctx context.Context, token string) bool {
	if i.turn.Take(ctx) != nil {
		return false
	}
	defer i.turn.Give()
	if i.token == token {
		i.until, i.good, i.has = time.Time{}, time.Time{}, nil // which keeps tokens
	}
	return token != ""
}

// gist returns the line of an error that says most: theirs are pages.
func gist(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for _, line := range lines {
		if strings.Contains(line, "AADSTS") { // an answer of the directory
			return strings.TrimSpace(line)
		}
	}
	for _, line := range lines {
		if _, says, ok := strings.Cut(line, "Credential: "); ok && strings.HasPrefix(line, "\t") {
			return strings.TrimSpace(says)
		}
	}
	return strings.TrimSpace(lines[0])
}
