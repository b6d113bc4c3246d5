package headrace

import (
	"errors"
	"fmt"
	"io"
)

// ErrShort marks an epoch that came to its end before it had the batches that StepsPerEpoch promises.
var ErrShort = errors.New("headrace: the epoch is too short")

// limitSteps makes the number of batches what StepsPerEpoch says.
func (l *Loader) limitSteps() error {
	if l.config.StepsPerEpoch == nil {
		return nil
	}
	steps := int64(*l.config.StepsPerEpoch)
	if most := l.info.BatchesPerEpoch; steps > most && most >= 0 {
		return fmt.Errorf("%w: steps_per_epoch is %d: an epoch of %d samples has %d batches", ErrConfig, steps, l.info.SamplesPerEpoch, most)
	}
	l.info.BatchesPerEpoch, l.info.Exact, l.extent.Steps = steps, true, steps
	return nil
}

// full tells whether the epoch that Next is in has had all batches that it is to have.
func (l *Loader) full() bool {
	return l.config.StepsPerEpoch != nil && l.count.Batches >= int64(*l.config.StepsPerEpoch)
}

// cut ends an epoch that is full. What is left of it is dropped, with what was made ahead, and the next one begins.
func (l *Loader) cut() error {
	l.endEpoch()
	until := l.serial.until
	l.Stop()
	if err := l.Start(State{Epoch: l.count.Epoch, Quarantine: l.work.Quarantine}, until); err != nil {
		return err
	}
	return io.EOF
}

// short ends the run, since other ranks have batches that this one has not.
func (l *Loader) short() error {
	l.failure = fmt.Errorf("%w: rank %d has %d batches in epoch %d, and steps_per_epoch is %d: take fewer steps, or lose and drop fewer samples",
		ErrShort, l.config.Rank, l.count.Batches, l.count.Epoch, *l.config.StepsPerEpoch)
	l.Stop()
	return l.failure
}
