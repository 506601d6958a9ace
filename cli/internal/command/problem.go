package command

import (
	"context"
	"errors"

	"github.com/b3abf3ee/portcullis/cli/internal/bundle"
	"github.com/b3abf3ee/portcullis/cli/internal/console"
	"github.com/b3abf3ee/portcullis/cli/internal/scaffold"
	"github.com/b3abf3ee/portcullis/host/core"
	"github.com/b3abf3ee/portcullis/host/id"
	"github.com/b3abf3ee/portcullis/host/plugin"
	"github.com/b3abf3ee/portcullis/host/sandbox"
	"github.com/b3abf3ee/portcullis/host/turn"
	"github.com/b3abf3ee/portcullis/policy/approval"
	"github.com/b3abf3ee/portcullis/sdk/guestbuild"
	"github.com/b3abf3ee/portcullis/sdk/manifest"
)

// problemOf turns any error into what a person is shown. Errors that packages below typed keep their words and get
// the exit code and the remedy of their kind; what nobody expected is the host's own failure.
func problemOf(ctx context.Context, err error) *console.Problem {
	var p *console.Problem
	if errors.As(err, &p) {
		return p
	}
	for _, known := range []func(error) *console.Problem{turnProblem, pluginProblem, buildProblem, coreProblem, scaffoldProblem, idProblem, secretProblem, fileProblem} {
		if p := known(err); p != nil {
			p.Cause = err
			return p
		}
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause)) {
		return &console.Problem{
			Code: "interrupted", Message: "interrupted before it was done", Exit: console.ExitNo, Cause: err,
			Remedy: "nothing half-done was kept; type the command again to start over",
		}
	}
	return &console.Problem{
		Code: "host_failed", Message: sentence(err), Exit: console.ExitHost, Cause: err,
		Remedy: "`portcullis doctor` looks for the cause",
	}
}

func idProblem(err error) *console.Problem {
	var bad *id.MalformedError
	if !errors.As(err, &bad) {
		return nil
	}
	list := map[string]string{
		"session": "`portcullis sessions list`", "turn": "`portcullis turns list`",
		"effect": "`portcullis effects list`", "approval": "`portcullis approvals list`", "delivery": "`portcullis outbox list`",
		"task": "`portcullis tasks list`",
	}[bad.Kind]
	p := usage("%v", bad)
	p.Code = "malformed_id"
	p.Remedy = list + " prints them"
	return p
}

func scaffoldProblem(err error) *console.Problem {
	var name *scaffold.NameError
	var taken *scaffold.TakenError
	var language *scaffold.LanguageError
	switch {
	case errors.As(err, &name):
		p := usage("%v", name)
		p.Code, p.Remedy = "bad_plugin_id", "give another with --name, for example --name my-plugin"
		return p
	case errors.As(err, &language):
		p := usage("%v", language)
		p.Code, p.Remedy = "unknown_language", "name one of these with --lang, or see `portcullis plugin pack --help` for any other"
		return p
	case errors.As(err, &taken):
		p := usage("%v", taken)
		p.Code, p.Remedy = "target_exists", "name a folder that does not exist yet"
		return p
	}
	return nil
}

func pluginProblem(err error) *console.Problem {
	var missing *plugin.MissingError
	var broken *plugin.BrokenError
	var conflict *plugin.ConflictError
	var digest *plugin.DigestError
	var source *plugin.SourceError
	problem := func(code string, err error, remedy string) *console.Problem {
		return &console.Problem{Code: code, Message: err.Error(), Exit: console.ExitUsage, Remedy: remedy}
	}
	switch {
	case errors.As(err, &missing):
		return problem("plugin_missing", missing, "`portcullis plugin list` shows what is installed")
	case errors.As(err, &broken):
		return problem("plugin_broken", broken, "`portcullis plugin list` shows every plugin and its state")
	case errors.As(err, &conflict):
		return problem("plugin_conflict", conflict, "`portcullis plugin inspect "+conflict.ID+"` shows the installed one")
	case errors.As(err, &digest):
		return problem("plugin_digest", digest, "`portcullis plugin install DIR --core CORE` pins what it installs")
	case errors.As(err, &source):
		return problem("plugin_source_"+source.Code, source, "`portcullis plugin build DIR` makes a folder that can be installed from")
	}
	return nil
}

// buildProblem is what a build can end with; in a person's own sources, so that the compiler's words are the message.
func buildProblem(err error) *console.Problem {
	var toolchain *guestbuild.ToolchainError
	var compile *guestbuild.CompileError
	var invalid *manifest.InvalidError
	var nowhere *bundle.NowhereError
	var silent *sandbox.DescribeError
	var unfit *sandbox.LoadError
	switch {
	case errors.As(err, &silent):
		return describeProblem(silent.Outcome)
	case errors.As(err, &unfit):
		return &console.Problem{Code: "plugin_" + string(unfit.Code), Message: unfit.Sentence, Exit: console.ExitNo, Remedy: "`portcullis plugin inspect` shows what a plugin imports and asks for"}
	case errors.As(err, &toolchain):
		return &console.Problem{Code: "no_go_toolchain", Message: "there is no Go toolchain on PATH to build plugins with", Exit: console.ExitUsage, Remedy: "install Go 1.26 or newer (https://go.dev/dl) and put its go command on PATH"}
	case errors.As(err, &compile):
		return &console.Problem{Code: "build_failed", Message: compile.Dir + " does not build:\n" + compile.Output, Exit: console.ExitNo, Remedy: "mend that and type the command again"}
	case errors.As(err, &invalid):
		return &console.Problem{Code: "manifest_invalid", Message: invalid.Error(), Exit: console.ExitNo, Remedy: "mend what the plugin says about itself in sdk.Register and build it again"}
	case errors.As(err, &nowhere):
		return &console.Problem{
			Code: "no_plugins_here", Message: nowhere.Error(), Exit: console.ExitUsage,
			Remedy: "run the command inside a checkout, name one with --source DIR, or use a release that carries the plugins (built with -tags bundled)",
		}
	}
	return nil
}

// coreProblem is a file of the home that a person wrote. All faults are shown; the first gives the place.
func coreProblem(err error) *console.Problem {
	faults := core.Faults(err)
	if len(faults) == 0 {
		return nil
	}
	first := faults[0]
	p := &console.Problem{
		Code: "bad_configuration", Message: first.Sentence, File: first.Path, Line: first.Line, Column: first.Column,
		Exit: console.ExitUsage, Remedy: "mend the file; `portcullis doctor` checks everything",
	}
	for _, f := range faults[1:] {
		p.Message += "\n" + f.Error()
	}
	return p
}

// turnProblem is a turn that was refused before it began, or rules that can never decide anything.
func turnProblem(err error) *console.Problem {
	if p := coreProblem(err); p != nil {
		return p
	}
	var rules approval.Faults
	if errors.As(err, &rules) && len(rules) > 0 {
		at := rules[0].At
		p := &console.Problem{
			Code: "bad_rules", Message: rules[0].Sentence, File: at.File, Line: at.Line, Column: at.Column, Exit: console.ExitUsage,
			Remedy: "mend the file; `portcullis doctor` checks everything",
		}
		for _, f := range rules[1:] {
			p.Message += "\n" + f.At.String() + ": " + f.Sentence
		}
		return p
	}
	var refused *turn.RejectedError
	if !errors.As(err, &refused) {
		return nil
	}
	p := &console.Problem{Code: refused.Reason, Message: refused.Sentence, Exit: console.ExitUsage}
	switch refused.Reason {
	case turn.RejectSession, turn.RejectEnded:
		p.Exit, p.Remedy = console.ExitNo, "`portcullis sessions list` shows yours"
	case turn.RejectBusy:
		p.Exit, p.Remedy = console.ExitNo, "wait for its turn to end, or begin a new session"
	case turn.RejectConflict, turn.RejectCancelled, turn.RejectQueueFull:
		p.Exit = console.ExitNo
	case turn.RejectClosed:
		p.Exit = console.ExitHost
	case turn.RejectInput:
		p.Remedy = "`portcullis run 'what time is it?'`; a pipe or a file is read when no words are given"
	case turn.RejectCore:
		p.Remedy = "`portcullis doctor` checks cores, plugins and configuration"
	}
	return p
}
