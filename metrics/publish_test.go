package metrics_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/node"
	"github.com/headrace/headrace/metrics"
)

// meet has the test, and the processes that it starts, meet in a folder of their own.
func meet(t *testing.T) {
	t.Helper()
	leak.Check(t)
	place := os.Getenv(inPlace)
	if place == "" {
		place = filepath.Join(t.TempDir(), "place")
		t.Setenv(inPlace, place)
	}
	f, err := node.Open(place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Use())
}

const (
	inPlace = "HEADRACE_TEST_PLACE"
	inPort  = "HEADRACE_TEST_PORT" // set: the test is another process, which publishes there
)

// freePort is one that nobody has, most likely for as long as the test takes.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// publish serves a loader that has all that is counted.
func publish(t *testing.T, listen, loader string) (stop func()) {
	t.Helper()
	l := metrics.Labels{Loader: loader}
	stop = metrics.Publish(metrics.Address{Listen: listen, Labels: l}, metrics.New(whole, l), func(m string) { t.Error(m) })
	t.Cleanup(stop)
	return stop
}

// ask waits until the answer at an address has a text, and none of the others.
func ask(t *testing.T, listen, want string, not ...string) (text string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		answer, err := client.Get("http://" + listen + "/metrics")
		if err != nil {
			text = err.Error()
			continue
		}
		bytes, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		text = string(bytes)
		has := strings.Contains(text, want)
		for _, other := range not {
			has = has && !strings.Contains(text, other)
		}
		if has {
			return text
		}
	}
	t.Fatalf("%s, without %q, is not in %s", want, not, text)
	return ""
}

func batchesOf(loader string) string {
	return fmt.Sprintf("headrace_batches_total{loader=%q} 10\n", loader)
}

// TestPublish: loaders of one process, with names and without, until each ends.
func TestPublish(t *testing.T) {
	meet(t)
	listen := freePort(t)
	train := publish(t, listen, "train")
	publish(t, listen, "train")
	publish(t, listen, "")
	other := publish(t, listen, "")
	text := ask(t, listen, batchesOf("train-2"))
	for _, loader := range []string{"train", "train-2", "1", "2"} {
		if !strings.Contains(text, batchesOf(loader)) {
			t.Errorf("%s is not in %s", loader, text)
		}
	}
	train()
	train() // again does nothing
	other()
	ask(t, listen, batchesOf("train-2"), batchesOf("train"), batchesOf("2"))
	publish(t, listen, "train")
	ask(t, listen, batchesOf("train"))
}

// TestOneOfSeveralRanks: some have labels that others lack.
func TestOneOfSeveralRanks(t *testing.T) {
	meet(t)
	listen := freePort(t)
	publish(t, listen, "val")
	l := metrics.Labels{Loader: "train", Rank: "1", Job: "night"}
	defer metrics.Publish(metrics.Address{Listen: listen}, metrics.New(whole, l), func(m string) { t.Error(m) })()
	text := ask(t, listen, `headrace_batches_total{job="night",loader="train",rank="1"} 10`)
	if !strings.Contains(text, batchesOf("val")) {
		t.Error(text)
	}
}

// TestAlone: a process that meets no other serves, too.
func TestAlone(t *testing.T) {
	listen := freePort(t)
	publish(t, listen, "train")
	ask(t, listen, batchesOf("train"))
}

// TestInAnotherProcess is the other process of TestProcesses.
func TestInAnotherProcess(t *testing.T) {
	listen := os.Getenv(inPort)
	if listen == "" {
		return // it is of the other one
	}
	meet(t)
	publish(t, listen, "train")
	io.Copy(io.Discard, os.Stdin)
}

func another(t *testing.T, listen string) (end func()) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestInAnotherProcess$")
	c.Env = append(os.Environ(), inPort+"="+listen)
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		c.Process.Kill()
		c.Wait()
	}
	t.Cleanup(end)
	return end
}

// TestProcesses: the process with the port tells of all, and another has it when that
// one is killed. Loaders of the same name are told apart.
func TestProcesses(t *testing.T) {
	meet(t)
	listen := freePort(t)
	first := another(t, listen)
	ask(t, listen, batchesOf("train"))
	publish(t, listen, "train")
	ask(t, listen, batchesOf("train-2"))
	second := another(t, listen)
	ask(t, listen, batchesOf("train-3"))
	first()
	ask(t, listen, batchesOf("train-2"), batchesOf("train-3"))
	second()
	ask(t, listen, batchesOf("train"), batchesOf("train-2"))
}

// TestAPortThatIsTaken is said once, and had when it is free.
func TestAPortThatIsTaken(t *testing.T) {
	meet(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 10)
	stop := metrics.Publish(metrics.Address{Listen: l.Addr().String()}, metrics.New(whole, metrics.Labels{}), func(m string) { said <- m })
	defer stop()
	m := <-said
	if !strings.Contains(m, "address already in use; the loader goes on") || !strings.Contains(m, "choose another in metrics=") {
		t.Error(m)
	}
	time.Sleep(1100 * time.Millisecond)
	l.Close()
	ask(t, l.Addr().String(), batchesOf("1"))
	if len(said) > 0 {
		t.Errorf("%s, again", <-said)
	}
}

// TestHosts: a web page that has a browser ask this machine by another name gets nothing.
func TestHosts(t *testing.T) {
	meet(t)
	listen := freePort(t)
	publish(t, listen, "train")
	ask(t, listen, batchesOf("train"))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/metrics", listen, 200}, {"GET", "/metrics", "localhost", 200}, {"GET", "/metrics", "[::1]:80", 200},
		{"GET", "/metrics", "example.com", 403}, {"GET", "/metrics", "example.com:9464", 403},
		{"GET", "/metrics", "127.0.0.1.example.com", 403},
		{"POST", "/metrics", listen, 405}, {"GET", "/", listen, 404}, {"GET", "/debug/pprof/", listen, 404},
	} {
		r, _ := http.NewRequest(c.method, "http://"+listen+c.path, nil)
		r.Host = c.host
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s %s of %s: %d, want %d", c.method, c.path, c.host, answer.StatusCode, c.want)
		}
	}
}
