package console

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFirstInterruptCancelsTheInnermostScopeAndTheSecondKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, killed := make(chan os.Signal), 0
		i := Watch(Process{Signals: signals, Kill: func() { killed++ }})
		outer, endOuter := i.Scope(t.Context())
		inner, endInner := i.Scope(outer)

		signals <- os.Interrupt
		synctest.Wait()
		if !errors.Is(context.Cause(inner), ErrInterrupted) || outer.Err() != nil || killed != 0 {
			t.Fatalf("first interrupt: inner %v, outer %v, killed %d", context.Cause(inner), outer.Err(), killed)
		}
		signals <- os.Interrupt
		synctest.Wait()
		if killed != 1 || outer.Err() != nil {
			t.Fatalf("second interrupt while the scope ends: killed %d, outer %v", killed, outer.Err())
		}
		endInner()
		signals <- os.Interrupt
		synctest.Wait()
		if !errors.Is(context.Cause(outer), ErrInterrupted) || killed != 1 {
			t.Fatalf("interrupt after the inner scope: outer %v, killed %d", context.Cause(outer), killed)
		}
		endOuter()
		i.Close()
	})
}

func TestEndOfAScopeIsNotAnInterrupt(t *testing.T) {
	i := Watch(Process{})
	defer i.Close()
	ctx, end := i.Scope(t.Context())
	end()
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), ErrInterrupted) {
		t.Fatalf("cause %v", context.Cause(ctx))
	}
}

func TestProgressCountsOnATerminalAndIsPlainElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := &tty{columns: 30}
		p := NewProgress(screen, time.Now)
		p.Step("building %s", "calc\x1b")
		time.Sleep(2500 * time.Millisecond) // the bubble's clock, not the wall's
		p.Close()
		want := "\r\x1b[Kbuilding calc‹U+001B›" + "\r\x1b[Kbuilding calc‹U+001B› 1s" + "\r\x1b[Kbuilding calc‹U+001B› 2s" + "\r\x1b[K"
		if screen.String() != want {
			t.Errorf("terminal: %q, want %q", screen.String(), want)
		}
	})
	var pipe bytes.Buffer
	p := NewProgress(&pipe, time.Now)
	p.Step("building %s", "calc")
	p.Later("loading %s", "calc")
	p.Idle()
	p.Step("done")
	p.Close()
	if pipe.String() != "building calc\ndone\n" {
		t.Errorf("pipe: %q", pipe.String())
	}
}

func TestShortWorkIsNotShownAndNothingIsDrawnOverWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := &tty{columns: 30}
		p := NewProgress(screen, time.Now)
		p.Later("loading %s", "calc")
		p.Idle()
		time.Sleep(3 * time.Second) // the bubble's clock
		if screen.Len() != 0 {
			t.Errorf("short work was shown: %q", screen.String())
		}
		p.Later("loading %s", "web")
		time.Sleep(1500 * time.Millisecond)
		p.Idle()
		time.Sleep(3 * time.Second)
		p.Close()
		if want := "\r\x1b[Kloading web 1s\r\x1b[K"; screen.String() != want {
			t.Errorf("long work: %q, want %q", screen.String(), want)
		}
	})
}

func TestALiveLineNeverWraps(t *testing.T) {
	screen := &tty{columns: 12}
	p := NewProgress(screen, time.Now)
	p.Step("%s", strings.Repeat("ž", 40))
	p.Close()
	if want := "\r\x1b[K" + strings.Repeat("ž", 10) + "…\r\x1b[K"; screen.String() != want {
		t.Errorf("%q, want %q", screen.String(), want)
	}
}
