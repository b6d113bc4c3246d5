package azure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/store"
)

// A token that cannot be renewed is used for as long as it is good, unless it was
// refused.
func TestATokenIsKeptWhileItIsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := false
		i := newGiven(&store.Giver{Ask: func(context.Context, string) (store.Given, error) {
			if fails {
				return store.Given{}, errors.New("no network")
			}
			return store.Given{Values: map[string]string{"Token": "first"}, Until: time.Now().Add(time.Hour)}, nil
		}})
		has := func(when, want string) {
			t.Helper()
			if token, _, err := i.get(t.Context()); token != want || (err == nil) != (want != "") {
				t.Errorf("%s the token is %q, %v", when, token, err)
			}
		}
		has("at first", "first")
		fails = true
		time.Sleep(time.Hour - earlier/2)
		has("shortly before it expires", "first")
		time.Sleep(earlier)
		has("after it has expired", "")

		fails = false
		time.Sleep(time.Minute)
		has("when there is another", "first")
		fails = true
		i.renew(t.Context(), "first")
		has("after it was refused", "")
	})
}
