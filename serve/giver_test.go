package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/headrace/headrace/wire"
)

// An answer that nobody waits for any longer is not taken for that of the next question,
// whether all of it comes late or the rest.
func TestLateAnswersAboutCredentials(t *testing.T) {
	ours, theirs := socketPair(t)
	g, err := newGiver(wire.Frame{Payload: []byte(`["s3","gs"]`), Descriptor: theirs})
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	client := os.NewFile(uintptr(ours), "client")
	defer client.Close()
	asked := bufio.NewReader(client)

	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := g.ask(ctx, "s3")
		left <- err
	}()
	if line, err := asked.ReadString('\n'); line != "\"s3\"\n" || err != nil {
		t.Fatalf("%q is asked for: %v", line, err)
	}
	fmt.Fprint(client, `{"given": {"key"`)
	time.Sleep(10 * time.Millisecond)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatalf("who gives up hears %v", err)
	}

	go func() {
		fmt.Fprintln(client, `: "late"}}`)
		asked.ReadString('\n')
		fmt.Fprintln(client, `{"given": {"key": "new"}}`)
	}()
	given, err := g.ask(t.Context(), "gs")
	if err != nil || given.Values["key"] != "new" {
		t.Errorf("the next question is answered with %v, %v", given.Values, err)
	}

	silent, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := g.ask(silent, "gs"); !errors.Is(err, errNoGiver) {
		t.Errorf("a function that says nothing: %v", err)
	}
	client.Close()
	if _, err := g.ask(t.Context(), "gs"); !errors.Is(err, errNoGiver) {
		t.Errorf("a client that has gone: %v", err)
	}
}
