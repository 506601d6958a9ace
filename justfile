# The recipes of this repository. `just check` is all that CI does, in its order.

set shell := ["bash", "-euo", "pipefail", "-c"]

gofumpt := "mvdan.cc/gofumpt@v0.12.0"
staticcheck := "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
guest_trees := "./sdk ./sdk/wire ./sdk/manifest ./sdk/httpx ./sdk/internal/... ./plugins/..."
fuzz_runs := env("FUZZ_RUNS", "4000x")

# `just vet` finds more than what `go test` would look for again in each of its modes: plain, with the race detector, for fuzzing
# and with a guard taken out
export GOFLAGS := trim(env("GOFLAGS", "") + " -vet=off")

# list the recipes
default:
    @just --list

# everything that must hold before a change lands
check: test vet fmt wasip1 race conform crash sequences guards-part leaks fuzz clean-tree

# the unit, script and contract tests, as the README says
test:
    go test ./...

# vet and staticcheck
vet: vet-bench
    go vet -tags strace ./...
    GOOS=wasip1 GOARCH=wasm go vet {{ guest_trees }}
    go run {{ staticcheck }} -tags strace ./...

# the comparison with other tools is a module of its own: its libraries are not ours
vet-bench:
    cd bench && go mod tidy -diff && go vet ./... && go test ./...

# another scanner looks for planted secrets in all that a run left behind; what is no secret to it stays as it is
leaks:
    @dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; \
      PORTCULLIS_KEEP_RUN="$dir" go test -count=1 -run '^TestASecretInElevenPlacesIsSeenNowhere$' ./cli/internal/command && \
      cd leaks && go mod tidy -diff && go vet ./... && go run . "$dir/run" "$dir/planted.txt" && go test -count=1 -v ./...

# refuse files that gofumpt would change
fmt:
    @bad=$(go run {{ gofumpt }} -l $(git ls-files '*.go' | grep -v '/testdata/')); \
      if [ -n "$bad" ]; then echo "not gofumpt-ed (run: just fix):"; echo "$bad"; exit 1; fi

# format in place
fix:
    go run {{ gofumpt }} -w $(git ls-files '*.go' | grep -v '/testdata/')

# what guests see must build for guests
wasip1:
    GOOS=wasip1 GOARCH=wasm go build -o /dev/null {{ guest_trees }}

# tests without a goroutine of their own, in which the race detector takes its time and finds nothing
one_by_one := "TestADamagedEntryIsMadeAnew TestLoadsOfAGoPluginLeaveNothing TestEvictionsOfGoPluginsLeaveNothing " + \
    "TestTenThousandLoadsLeaveNothing TestAMillionTokensNeverExceedAWindow TestNoVocabularyNeedsMoreThanTheEstimate " + \
    "TestWhatIsRememberedIsWhatIsStored TestTamperingWithTheAuditIsFound TestModel TestTwin " + \
    "TestMeteredGuestsOfAllLanguagesAnswerAlike TestGoGuestsStartFresh TestImagesRestoreEveryByte TestTheSystemStopsTheCompiler " + \
    "TestCraftedFramesStayWithinTheStack TestACompileBombCostsItsLimitOnce TestACallMovesABoundedAmountOfValues " + \
    "TestHostWorkSpendsFuel TestNothingSecretIsLeftWhereStderrBegins TestNothingSecretOfAGuestIsCutThrough " + \
    "TestASchemaIsPaidFor"

# the race detector over every package that touches goroutines, without the tests that do one thing after the other and that
# `just test` runs
race:
    CGO_ENABLED=1 go test -race -timeout 20m -skip '^({{ replace(one_by_one, " ", "|") }})$' $(just goroutine-packages)

# packages whose code starts goroutines, takes locks or uses atomics
goroutine-packages:
    @git ls-files '*.go' | grep -vE '^(plugins|sdk/internal|conformance/guests|bench|leaks)/|/testdata/|_test\.go$' \
      | xargs grep -slE '^\s*go (func|[a-z])|sync\.|atomic\.|errgroup\.' | xargs -n1 dirname | sort -u | sed 's|^|./|'

# kill a turn and an upgrade, and fail their disk, at every point there is. What is compared with strace is behind a build tag,
# so that `go test ./...` needs no more than Go and does not pass a test that it left out
crash:
    @shm=$([ -w /dev/shm ] && echo /dev/shm || echo ""); \
      CRASH_DIR="$shm" CRASH_STRIDE=1 go test -tags strace -count=1 -v -timeout 20m ./conformance/crash | grep -E '^(---|ok|FAIL|PASS|panic)|crash:|torn:|upgrade:|_test.go'

# ten thousand random sequences of each store's calls beside the model, and clients of one store at the same time held to some
# order of their calls; `go test` runs some of them. Each process begins at a seed of its own, and one has work for one processor only
sequences:
    @shm=$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}"); run() { \
        go test -count=1 -v -timeout 20m -exec "env TMPDIR=$shm" "$@" | grep -E '^(---|ok|FAIL|PASS|panic)|compare:|model:|linear:|rapid|_test.go'; }; \
      half() { PORTCULLIS_COMPARE=5000 run -run '^TestModel$' ./store/sqlite; }; \
      half & other=$!; ok=true; half || ok=false; wait "$other" || ok=false; $ok && \
      PORTCULLIS_COMPARE=10000 run -run '^TestModel$' ./store/memory && \
      PORTCULLIS_COMPARE=1000 PORTCULLIS_HISTORIES=200 run -run '^(TestTwin|TestLinear|TestAStoreThatForgetsARuleIsFoundOut)$' ./store/memory ./store/sqlite

# what the child of the crash suite leaves in a database of today's schema, kept for the days when that is an earlier one
save-schema:
    PORTCULLIS_SAVE_SCHEMA=1 go test -count=1 -run '^TestEarlierSchemasAreKept$' ./conformance/crash

# a sixteenth of the guards, another one with each commit: all of them (`just guards`) take most of an hour
guards-part:
    go run ./conformance/guards -part "$((0x$(git rev-parse --short=7 HEAD)))/16"

# take each guard out in turn and see that its test notices
guards *ARGS:
    go run ./conformance/guards {{ ARGS }}

# the conformance suite over the bundled plugins: native, our engine and the Extism engine agree
conform:
    @out=$(go test -count=1 -v -run '^TestConform' ./conformance) || { echo "$out"; exit 1; }; \
      echo "$out" | grep -E '^(--- |ok|PASS|languages: )'; \
      echo "$out" | grep -q '^--- PASS: TestConform' || { echo "no conformance test ran"; exit 1; }

# make the guests of other languages anew with the toolchains of Debian 12 and npm (root, network), and say whether their
# bytes are those that are kept; with `keep`, keep the new ones
languages *keep:
    sh conformance/guests/languages/rebuild.sh {{ keep }}

# a short pass of each fuzz target; counted in runs, since a duration makes Go 1.26's fuzzer fail by chance when it ends
# (go.dev/issue/75804), and with little minimizing, which takes a minute for one input otherwise; each package is built once,
# without the files that are behind the tag and bring in much that no target needs
fuzz:
    @built=$(mktemp -d); trap 'rm -rf "$built"' EXIT; cache="$(go env GOCACHE)/fuzz"; \
      for dir in $(git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
        go test -c -tags fuzzing -fuzz=. -o "$built/fuzz" "./$dir"; pkg=$(go list "./$dir"); \
        for t in $(grep -ohE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -c6-); do \
          echo "fuzz $dir $t"; \
          out=$(cd "$dir" && "$built/fuzz" -test.run '^$' -test.fuzz "^$t\$" -test.fuzztime {{ fuzz_runs }} -test.fuzzminimizetime 20x -test.fuzzcachedir "$cache/$pkg" 2>&1) \
            || { echo "$out" | tail -n 80; exit 1; }; \
          grep -q '^fuzz: elapsed' <<< "$out" || { echo "$out"; echo "$t did not run"; exit 1; }; \
          echo "$out" | tail -n 2; \
        done; done

# generated files and module files are as committed
clean-tree:
    go generate ./...
    go mod verify
    go mod tidy -diff
    git diff --exit-code

# the benchmarks of every package, then one echo through Portcullis and its peers; ends with a line for each goal (some ten minutes)
bench:
    cd bench && go run . -suite

# the benchmarks of every package
bench-packages:
    go test -run '^$' -bench . -benchmem ./...

# one echo through Portcullis and its peers, interleaved, with every ratio
bench-peers *flags:
    cd bench && go run . {{ flags }}

# a self-contained binary with the bundled plugins inside
release:
    go run ./cli/portcullis plugin build --all
    go build -tags bundled -trimpath -ldflags '-s -w' -o .build/portcullis ./cli/portcullis
