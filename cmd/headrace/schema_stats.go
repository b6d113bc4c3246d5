package main

import "github.com/headrace/headrace/stats"

// statsDocument has the keys of loader.stats(). Those of all ranks are there with
// ranks="all": Python gathers them.
type statsDocument struct {
	stats.Document
	Ranks []rankDocument `json:"ranks,omitempty" doc:"the loops of all ranks, with stats(ranks=\"all\")"`
	Skew  *skewDocument  `json:"skew,omitempty" doc:"likewise: which ranks the others wait for"`
}

// rankDocument is the loop of a rank. Python makes it, in _loader/ranks.py.
type rankDocument struct {
	Rank      int     `json:"rank" doc:"the rank in torch.distributed"`
	DataRank  int     `json:"data_rank" doc:"the loader's; ranks that hold the same data have the same"`
	DataRanks int     `json:"data_ranks" doc:"of so many"`
	Host      string  `json:"host" doc:"the machine"`
	PID       int     `json:"pid" doc:"the process"`
	Batches   int64   `json:"batches" doc:"batches that the loop got"`
	Samples   int64   `json:"samples" doc:"samples in batches"`
	Lost      int64   `json:"lost" doc:"samples lost"`
	Start     int64   `json:"start_ns" doc:"time that the loop waited for its first batch"`
	Loop      int64   `json:"loop_ns" doc:"time of the loop since then, the sum of the next four"`
	Wait      int64   `json:"wait_ns" doc:"waiting"`
	Handed    int64   `json:"handed_ns" doc:"handing over a batch that was ready"`
	Main      int64   `json:"main_ns" doc:"in steps with where=\"main\""`
	Step      int64   `json:"step_ns" doc:"all else"`
	Share     float64 `json:"share" doc:"the part of the loop that is not step_ns"`
	Limits    string  `json:"limits" doc:"as of its own stats()"`
	Verdict   string  `json:"verdict" doc:"likewise"`
}

// skewDocument compares ranks.
type skewDocument struct {
	Slowest     int     `json:"slowest" doc:"the rank that waits longest"`
	Share       float64 `json:"share" doc:"the part of its loop in which it waits"`
	MedianShare float64 `json:"median_share" doc:"that of the median rank"`
	Late        []int   `json:"late" doc:"the ranks that the others wait for"`
	Verdict     string  `json:"verdict" doc:"the sentence; empty: there is one rank"`
}
