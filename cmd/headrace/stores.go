package main

// Each registers its schemes, in all commands and for the engine.
import (
	_ "github.com/headrace/headrace/store/azure"
	_ "github.com/headrace/headrace/store/gcs"
	_ "github.com/headrace/headrace/store/hub"
	_ "github.com/headrace/headrace/store/s3"
	_ "github.com/headrace/headrace/store/web"
)
