package s3

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// TestWaitingForCredentials: readers that wait for those that one looks for end with
// their context, and are told of its failure instead of failing one after the other.
func TestWaitingForCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, asked := make(chan struct{}), 0
		i := newIdentity(false)
		i.sources = []source{{"a role", func() (v credentials.Value, err error) {
			asked++
			<-hold
			return v, errors.New("gone")
		}, true}}
		var all sync.WaitGroup
		for range 128 {
			all.Go(func() {
				if _, _, err := i.get(t.Context()); err == nil || !strings.Contains(err.Error(), "no credentials from a role: gone") {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := i.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(hold)
		all.Wait()
		if asked != 1 {
			t.Errorf("%d of 128 readers have looked", asked)
		}
		time.Sleep(keepError)
		if i.get(t.Context()); asked != 2 {
			t.Error("they are not looked for again")
		}
	})
}

func TestAKeyWithoutItsSecret(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SECRET_KEY", "")
	if _, _, err := newIdentity(false).get(t.Context()); !errors.Is(err, errNoSecret) {
		t.Error(err)
	}
}
