package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// deaf annotates a command that the signals of a terminal do not stop.
const deaf = "deaf"

// watch has every command run under a context that a signal ends, and tells what
// happens in a command from a command line that names none.
func watch(c *cobra.Command) {
	for _, sub := range c.Commands() {
		watch(sub)
	}

	run := c.RunE
	if run == nil {
		return
	}

	c.RunE = func(c *cobra.Command, args []string) error {
		ctx := c.Context()
		if _, ok := c.Annotations[deaf]; !ok {
			var stop func()
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			context.AfterFunc(ctx, stop) // the second one ends a command that does not come to an end
			c.SetContext(ctx)
		}

		err := run(c, args)

		// What fails after a signal fails because of it, unless it has its own code.
		if decided := (*codeError)(nil); err != nil && ctx.Err() != nil && !errors.As(err, &decided) {
			err = &codeError{exitInterrupted, errors.New("interrupted")}
		}
		if err != nil {
			return &commandError{err}
		}
		return nil
	}
}
