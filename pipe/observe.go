package pipe

import "github.com/headrace/headrace/pipe/observe"

// What a run tells about itself, with the fields and methods that package observe has.
type (
	// Stats are a run's numbers: always on, and never going down. See [Run.Stats].
	Stats = observe.Stats

	// StageStats are the numbers of a stage.
	StageStats = observe.StageStats

	// QueueStats are the numbers of the queue between two stages.
	QueueStats = observe.QueueStats

	// Shares are the parts of the time that the workers of a stage spent on each thing.
	Shares = observe.Shares

	// A Bucket counts the operations that took no longer than UpTo, and longer than the
	// bucket before.
	Bucket = observe.Bucket

	// A Report is what [Profile] has found.
	Report = observe.Report

	// A StageProfile is what a stage can do alone.
	StageProfile = observe.StageProfile

	// A Trial is what a stage has done alone, with so many workers.
	Trial = observe.Trial

	// A Headspace is how long a consumer took for so many items, from a flow and from
	// memory. See [MeasureHeadspace].
	Headspace = observe.Headspace

	// A StallReport says what a run that stands still is waiting for. See [Stall].
	StallReport = observe.StallReport

	// A StalledStage says what the workers of a stage do.
	StalledStage = observe.StalledStage

	// A StalledOperation is one that has not returned.
	StalledOperation = observe.StalledOperation

	// A Span is a part of the life of a worker, or of the consumer: one operation, or one
	// time of waiting. See [Hooks].
	Span = observe.Span

	// SpanKind says how a time was spent.
	SpanKind = observe.SpanKind
)

// The kinds of spans.
const (
	Operation = observe.Operation // in operations: what is busy in StageStats
	Work      = observe.Work      // in what else is busy: a batch is sealed, then it is Item; a worker begins
	Starved   = observe.Starved   // waiting for the stage before
	Blocked   = observe.Blocked   // waiting for the next stage, or for a Store
	Gated     = observe.Gated     // waiting for a Gate
	Queued    = observe.Queued    // with an item, waiting for a worker elsewhere
	HandOver  = observe.HandOver  // by the consumer: Next has an item, and returns it
	Consuming = observe.Consuming // by the consumer, between two calls of Next
)
