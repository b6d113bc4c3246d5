package steady_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/store/steady"
	"github.com/headrace/headrace/store/storetest"
)

// readers read parts, one after the other, until a time has passed, and return how many
// that were.
func (b *bed) readers(n int, until time.Duration) int {
	var all sync.WaitGroup
	var done atomic.Int64
	end := time.Now().Add(until)
	for i := range n {
		all.Go(func() {
			for time.Now().Before(end) {
				b.reads(i%50, 50)
				done.Add(1)
			}
		})
	}
	all.Wait()
	return int(done.Load())
}

// TestPace: 16 requests are sent at once at first, and 128 at most.
func TestPace(t *testing.T) {
	in(t, 100, func(b *bed) {
		b.Pause = time.Second
		var all sync.WaitGroup
		all.Go(func() { b.readers(200, 60*time.Second) })
		time.Sleep(time.Second / 2)
		if n := b.AtOnce(); n != 16 {
			b.Errorf("%d requests at once, at first", n)
		}
		all.Wait()
		if n := b.AtOnce(); n < 127 || n > 130 || b.counts().AtOnce != 128 {
			b.Errorf("%d requests at once, and %d may be", n, b.counts().AtOnce)
		}
	})
}

// TestStorm: a host that refuses everything for a while is left alone, and asked as
// before 30 s after.
func TestStorm(t *testing.T) {
	if testing.Short() {
		return // it has more requests than the race detector can follow
	}
	in(t, 100, func(b *bed) {
		b.Pause = 500 * time.Millisecond
		b.readers(64, 30*time.Second)
		before := float64(b.readers(64, 10*time.Second))
		storm := time.Now().Add(20 * time.Second)
		var refused atomic.Int64
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if time.Now().After(storm) {
				return false
			}
			refused.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		b.readers(64, 50*time.Second)
		if after := float64(b.readers(64, 10*time.Second)); after < 0.95*before {
			b.Errorf("%.0f reads in 10 s before the storm, %.0f after it", before, after)
		}
		if n := refused.Load(); n > 200 {
			b.Errorf("%d requests into the storm", n)
		}
	})
}

// TestLongStorm: if 30 % fail for five minutes, retries stay below a tenth of all
// requests, beside a few a second.
func TestLongStorm(t *testing.T) {
	if testing.Short() {
		return // it has more requests than the race detector can follow
	}
	in(t, 100, func(b *bed) {
		b.Pause = 500 * time.Millisecond
		b.readers(24, time.Minute/2)
		before := float64(b.readers(24, 20*time.Second))
		random := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			bad := random.IntN(10) < 3
			if bad {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return bad
		}
		begun := time.Now()
		b.readers(24, 5*time.Minute)
		c := b.counts()
		if most := float64(c.Requests)/10 + 128 + 5*time.Since(begun).Seconds(); float64(c.Retries) > most {
			b.Errorf("%d retries of %d requests, %v were allowed", c.Retries, c.Requests, most)
		}
		synctest.Wait()
		b.Fault = nil
		b.readers(24, 30*time.Second)
		if after := float64(b.readers(24, 20*time.Second)); after < 0.95*before {
			b.Errorf("%.0f reads before the storm, %.0f after it", before, after)
		}
	})
}

// TestHostsAskForTime: nothing is sent for as long as a host asks for, in each of its
// ways to say so.
func TestHostsAskForTime(t *testing.T) {
	for name, header := range map[string]func() (name, value string){
		"seconds": func() (string, string) { return "Retry-After", "55" },
		"date": func() (string, string) {
			return "Retry-After", time.Now().Add(55 * time.Second).UTC().Format(http.TimeFormat)
		},
		"rate limit": func() (string, string) { return "RateLimit", `"api";r=0;t=55` },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 100, func(b *bed) {
				b.reads(0, 10)
				throttled := false
				synctest.Wait()
				b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
					was := throttled
					if throttled = true; !was {
						name, value := header()
						w.Header().Set(name, value)
						w.WriteHeader(http.StatusTooManyRequests)
					}
					return !was
				}
				since, before := time.Now(), len(b.Asked())
				b.readers(1, time.Nanosecond)
				asked := b.Asked()
				gap := asked[before+1].At.Sub(asked[before].At)
				if gap < 54*time.Second || time.Since(since) > 57*time.Second || b.counts().Throttled != 1 {
					b.Errorf("the next request came after %v; %+v", gap, b.counts())
				}
			})
		})
	}
	in(t, 100, func(b *bed) {
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		if took := b.fails(syscall.EREMOTEIO, "429 Too Many Requests", "asks for 24h0m0s of pause"); took > time.Second {
			b.Errorf("it waits %v", took)
		}
	})
}

// TestHedges: of requests a hundredth of which is late, nine tenths of the speed remain,
// and few are sent twice; none while the host asks for time.
func TestHedges(t *testing.T) {
	in(t, 100, func(b *bed) {
		b.Pause = 100 * time.Millisecond
		b.readers(16, 5*time.Second)
		before := float64(b.readers(16, 20*time.Second))
		var n atomic.Int64
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if n.Add(1)%100 == 0 {
				storetest.Wait(r, 2*time.Second)
			}
			return false
		}
		after := float64(b.readers(16, 20*time.Second))
		c := b.counts()
		if after < 0.9*before || c.Hedges > c.Requests*3/100+10 || c.Won < c.Hedges/2 {
			b.Errorf("%.0f reads, and %.0f with late ones; %+v", before, after, c)
		}

		// All are late: hedges stay few.
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { storetest.Wait(r, time.Second); return false }
		b.readers(16, 20*time.Second)
		if c := b.counts(); c.Hedges > c.Requests*3/100+10 {
			b.Errorf("%+v", c)
		}
	})
}

// TestUnreachable: the error names the host, and what was tried, and does not take long.
func TestUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		is   error
		says string
		most time.Duration
	}{
		"closed port": {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, syscall.ECONNREFUSED,
			"connection refused (after 4 tries", 2 * time.Second},
		"no name": {&net.DNSError{Err: "no such host", Name: "server", IsNotFound: true}, syscall.EREMOTEIO,
			"there is no host of this name", time.Second},
		"black hole": {nil, syscall.ETIMEDOUT, "after 4 tries", 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := steady.Transport()
				transport.Proxy = nil
				transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
					if c.err != nil {
						return nil, c.err
					}
					time.Sleep(10 * time.Second) // as the dialer of steady.Transport
					return nil, &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}
				}
				client := steady.New(transport, true)
				since := time.Now()
				_, err := client.Stat(t.Context(), "x", askFor("x"))
				var remote syscall.Errno
				if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "server: ") ||
					!errors.As(err, &remote) || !errors.Is(err, c.is) || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%v", err)
				}
				if took := time.Since(since); took > c.most {
					t.Errorf("it takes %v", took)
				}
			})
		})
	}
	// Hosts that have answered get more time, and a read that fails while others do not
	// gets less of it.
	in(t, 100, func(b *bed) {
		synctest.Wait()
		b.Fault = func(n int, w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") != "bytes=0-9" {
				storetest.Reset(r)
			}
			return false
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 600 {
				b.reads(0, 10)
				time.Sleep(200 * time.Millisecond)
			}
		}()
		if took := b.fails(syscall.EREMOTEIO, "server: ", "tries in"); took > time.Minute {
			b.Errorf("it takes %v", took)
		}
		<-done
	})
}

// TestRequestsThatCannotBeMade: that is no fault of the host.
func TestRequestsThatCannotBeMade(t *testing.T) {
	in(t, 100, func(b *bed) {
		wrong := errors.New("no credentials")
		good := b.ask
		b.ask.Request = func(context.Context, http.Header) (*http.Request, error) { return nil, wrong }
		if _, err := b.read(0, 10); !errors.Is(err, wrong) {
			b.Error(err)
		}
		b.ask = good
		if _, err := b.read(90, 11); !errors.Is(err, io.ErrUnexpectedEOF) {
			b.Error(err)
		}
	})
}
