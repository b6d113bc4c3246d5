package stats

// Tuned is a change of a stage's workers that a loader made by itself, and what came of
// it.
type Tuned struct {
	Stage string `json:"stage" doc:"the stage"`
	From  int    `json:"from" gauge:"workers" doc:"how many it had"`
	To    int    `json:"to" gauge:"workers" doc:"how many it was given"`

	Before float64 `json:"before" gauge:"samples/s" doc:"samples a second with the workers that it had"`
	Told   float64 `json:"told" gauge:"samples/s" doc:"the rate that was expected"`
	After  float64 `json:"after" gauge:"samples/s" doc:"samples a second then"`
	Kept   bool    `json:"kept" doc:"whether it stays; otherwise the stage has the workers that it had"`
}

// Rate returns the samples a second of the consumer's loop; not ok: too little was
// counted, as for [Advice].
func Rate(s Snapshot) (rate float64, ok bool) {
	n, ok := networkOf(s)
	return n.Rate, ok
}
