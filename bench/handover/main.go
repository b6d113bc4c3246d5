// Command handover is an engine that decodes nothing.
//
// It is the whole engine but for the decoder: what is left when the work is taken away is the price of the engine and of handing batches
// over. bench/handover.py gives it to the Python client in place of the real one, and counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"headrace/media"
	"headrace/serve"
)

// nothing leaves the row as it is.
type nothing struct{}

func (nothing) Name() string { return "nothing" }

func (nothing) DecodeInto([]byte, int, []byte, *media.Info, *media.Plan) error { return nil }

func main() {
	media.Register(media.JPEG, nothing{})
	var o serve.Options
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	flags.IntVar(&o.Control, "fd", -1, "descriptor of the control connection")
	flags.IntVar(&o.Page, "page", -1, "descriptor of the crash page")
	flags.Parse(os.Args[2:])
	if err := serve.Serve(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "handover:", err)
		os.Exit(1)
	}
}
