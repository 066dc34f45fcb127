#!/usr/bin/env bash
# Lets real MCP clients talk to the server: the Inspector, two lines of the Python and of the TypeScript SDK, and
# Claude Code. Each client gets a fresh workspace; what it was answered and what the files then hold is checked.
#
# usage: run.sh [SERVER]        SERVER: the binary; default: a release build of this repository
#
# environment:
#   MCP_JSON=FILE        the registration that is started as it stands (default: mcp.json of this repository)
#   WITH_CLAUDE_CODE=1   check Claude Code too, a package of some 400 MB
#   CLIENTS_CACHE=DIR    where the clients are installed, once (default: companion-memory-clients in the user's cache)
#
# needs: node 20 or later, npm, python3.10 or later with venv or pip
set -euo pipefail

# What is measured has a version, so that a red check means that the server changed and not the client.
inspector=2.12.0
typescript_first=1.32.2
typescript_second=2.4.0
python_first=1.30.0
python_second=2.3.0
claude_code=2.1.332

# The newest revision of either era, which is what these versions agree on.
legacy=2025-11-25
modern=2026-07-28

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../.." && pwd)
cache=${CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/companion-memory-clients}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

passed=0
failed=0
skipped=0

# check NAME COMMAND…: one line; what the command printed follows only if it failed.
check() {
  local name=$1 status=0
  shift
  # Not the condition of an `if`: there `set -e` would not hold within the command.
  set +e
  (set -e; "$@") >"$scratch/output" 2>&1
  status=$?
  set -e
  if ((status == 0)); then
    echo "ok      $name"
    passed=$((passed + 1))
  else
    echo "FAILED  $name"
    sed 's/^/        /' "$scratch/output"
    failed=$((failed + 1))
  fi
}

skip() {
  echo "skipped $1"
  skipped=$((skipped + 1))
}

# quietly COMMAND…: prints nothing unless it fails.
quietly() {
  "$@" >"$scratch/output" 2>&1 || {
    cat "$scratch/output" >&2
    return 1
  }
}

# once NAME COMMAND…: runs `COMMAND… FOLDER` to fill a folder of the cache, if that was not done before. A folder
# without the mark is what an interrupted run left.
once() {
  local folder=$cache/$1
  shift
  [[ -e $folder/.complete ]] && return
  rm -rf "$folder"
  mkdir -p "$folder"
  quietly "$@" "$folder"
  touch "$folder/.complete"
}

# Install scripts stay off: none of these clients needs one, but for Claude Code, which names it.
npm_package() {
  npm install --prefix "$2" --ignore-scripts --no-save --no-package-lock --no-audit --no-fund "$1"
}

claude_code_package() {
  npm_package "@anthropic-ai/claude-code@$claude_code" "$1" &&
    node "$1/node_modules/@anthropic-ai/claude-code/install.cjs"
}

# Some systems ship Python without venv.
python_package() {
  if python3 -m venv "$2/venv"; then
    "$2/venv/bin/python" -m pip install "$1"
  else
    rm -rf "$2/venv"
    python3 -m pip install --target "$2/packages" "$1"
  fi
}

python() {
  local folder=$cache/$1
  shift
  if [[ -d $folder/venv ]]; then
    "$folder/venv/bin/python" "$@"
  else
    PYTHONPATH=$folder/packages python3 "$@"
  fi
}

# fresh_workspace: a workspace that no other client has seen, in $workspace.
fresh_workspace() {
  workspace=$(mktemp -d "$scratch/workspace.XXXXXX")/w
  quietly "$server" init "$workspace"
}

# conversation NAME REVISION CLIENT…: the whole conversation of conversation.json through one client.
conversation() {
  local name=$1 revision=$2
  shift 2
  fresh_workspace
  check "$name" speak_and_compare "$revision" "$@" "$server" serve --workspace "$workspace"
}

speak_and_compare() {
  local revision=$1
  shift
  "$@" >"$scratch/transcript"
  python3 "$here/check_conversation.py" "$revision" "$workspace" <"$scratch/transcript"
}

inspect() {
  # It keeps a catalogue of servers in the home and looks for secrets of theirs in the keychain: both stay out of this.
  HOME=$scratch MCP_INSPECTOR_SECRET_STORE=memory \
    "$cache/inspector-$inspector/node_modules/.bin/mcp-inspector" --cli --format json "$@"
}

lists_without_a_finding() {
  inspect --method tools/list --strict "$@" | tee "$scratch/list"
  # Warnings leave the exit status at 0.
  if grep -q schemaFindings "$scratch/list"; then return 1; fi
  grep -q '"name":"append_event"' "$scratch/list"
}

answers_with() {
  local expected=$1
  shift
  inspect --method tools/call "$@" | tee "$scratch/answer"
  grep -qF "$expected" "$scratch/answer"
}

refuses_with() {
  local expected=$1 status=0
  shift
  inspect --method tools/call "$@" | tee "$scratch/answer" || status=$?
  # 5 is the Inspector's word for a result that is an error; a protocol error would be 1.
  [[ $status == 5 ]] && grep -qF "$expected" "$scratch/answer"
}

# inspector_says ERA EVENT ID: every call is a process of its own, so the number goes on only if the file was written.
inspector_says() {
  local name="Inspector $inspector, $1" event=$2 id=$3
  local started=(--protocol-era "$1" "$server" serve --workspace "$workspace")
  check "$name: tools/list --strict finds nothing" lists_without_a_finding "${started[@]}"
  check "$name: a call is answered" \
    answers_with "\"structuredContent\":{\"id\":\"$id\"}" \
    --tool-name append_event --tool-args-json "$event" "${started[@]}"
  check "$name: a refused call is an error result" \
    refuses_with 'unknown_argument: ' --tool-name append_event --tool-args-json "$wrong" "${started[@]}"
}

# A registration names the program only, and says nothing of a workspace: the one is found in PATH, the other where
# the client was started.
as_registered() (
  cd "$workspace"
  PATH=$(dirname "$server"):$PATH
  answers_with '"structuredContent":{"id":"E001"}' --tool-name append_event --tool-args-json "$promise" \
    --config "$1" --server companion-memory
  grep -F '周五一起去看展' memory/events.md
)

# A home of its own, as it keeps registrations there. Without a connection it exits with 0 as well.
claude_code_connects() (
  cd "$workspace"
  export HOME=$scratch/home CLAUDE_CONFIG_DIR=$scratch/home CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
  mkdir -p "$HOME"
  claude=$cache/claude-code-$claude_code/node_modules/.bin/claude
  "$claude" mcp add --scope local companion-memory -- "$server" serve --workspace "$workspace"
  "$claude" mcp get companion-memory | tee "$scratch/connection"
  grep -q Connected "$scratch/connection"
)

server=${1:-}
if [[ -z $server ]]; then
  quietly cargo build --release --locked --manifest-path "$repository/Cargo.toml"
  server=${CARGO_TARGET_DIR:-$repository/target}/release/companion-memory
fi
server=$(cd "$(dirname "$server")" && pwd)/$(basename "$server")

once "inspector-$inspector" npm_package "@modelcontextprotocol/inspector@$inspector"
once "typescript-$typescript_first" npm_package "@modelcontextprotocol/sdk@$typescript_first"
once "typescript-$typescript_second" npm_package "@modelcontextprotocol/client@$typescript_second"
once "python-$python_first" python_package "mcp==$python_first"
once "python-$python_second" python_package "mcp==$python_second"

fresh_workspace
promise='{"type": "约定", "content": "周五一起去看展", "due_date": "2026-04-17"}'
another='{"type": "约定", "content": "周六去爬山", "due_date": "2026-04-18"}'
wrong='{"type": "约定", "content": "周日什么也不做", "colour": "blue"}'
inspector_says legacy "$promise" E001
inspector_says modern "$another" E002

conversation "Python SDK $python_first" $legacy python "python-$python_first" "$here/python_client.py" legacy
conversation "Python SDK $python_second, legacy" $legacy python "python-$python_second" "$here/python_client.py" legacy
for mode in auto modern; do
  conversation "Python SDK $python_second, $mode" $modern \
    python "python-$python_second" "$here/python_client.py" "${mode/modern/$modern}"
done

typescript=(node "$here/typescript_client.mjs")
conversation "TypeScript SDK $typescript_first" $legacy "${typescript[@]}" "$cache/typescript-$typescript_first" legacy
for mode in auto modern; do
  conversation "TypeScript SDK $typescript_second, $mode" $modern \
    "${typescript[@]}" "$cache/typescript-$typescript_second" "${mode/modern/$modern}"
done

mcp_json=${MCP_JSON:-$repository/mcp.json}
if [[ -e $mcp_json ]]; then
  fresh_workspace
  check "mcp.json: starts the server in a workspace" \
    as_registered "$(cd "$(dirname "$mcp_json")" && pwd)/$(basename "$mcp_json")"
else
  skip "mcp.json: there is no $mcp_json"
fi

if [[ ${WITH_CLAUDE_CODE:-0} == 1 ]]; then
  once "claude-code-$claude_code" claude_code_package
  fresh_workspace
  check "Claude Code $claude_code: connects" claude_code_connects
else
  skip "Claude Code: only with WITH_CLAUDE_CODE=1"
fi

printf '%s passed, %s failed' "$passed" "$failed"
if ((skipped)); then printf ', %s skipped' "$skipped"; fi
printf '\n'
((failed == 0))
