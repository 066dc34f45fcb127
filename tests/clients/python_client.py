"""Holds the conversation of `conversation.json` through the Python SDK and prints what came back.

usage: python_client.py MODE SERVER [ARGUMENT…]

Runs on both lines of the SDK. MODE is `legacy`, `auto` or a protocol revision; the 1.x line knows `legacy` only.
The judgement is left to `check_conversation.py`: this file only speaks, so that every client is judged alike.
"""

import json
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp
from mcp.client.stdio import stdio_client


@asynccontextmanager
async def connected(server, mode):
    """Yields the client, the protocol revision agreed on, and the server's name, if the era tells it."""
    if hasattr(mcp, "Client"):
        async with mcp.Client(server, mode=mode) as client:
            yield client, client.protocol_version, client.server_info and client.server_info.name
    else:
        async with stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
            hello = await session.initialize()
            yield session, hello.protocolVersion, hello.serverInfo.name


def on_the_wire(model):
    """The two lines of the SDK name their attributes differently, the protocol does not."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(mode, command, *arguments):
    turns = json.loads(Path(__file__).with_name("conversation.json").read_text("utf-8"))["turns"]
    server = mcp.StdioServerParameters(command=command, args=list(arguments))
    async with connected(server, mode) as (client, revision, name):
        # The SDK checks results against the schemas that it has been told, so the list comes first.
        tools = on_the_wire(await client.list_tools())["tools"]
        answers = [on_the_wire(await client.call_tool(turn["call"], turn["with"])) for turn in turns]
        closed_at = time.monotonic()
    transcript = {
        "revision": revision,
        "server": name,
        "tools": tools,
        "answers": answers,
        "close_seconds": time.monotonic() - closed_at,
    }
    print(json.dumps(transcript))


async def in_time():
    # Some of these clients would wait for an answer for ever.
    with anyio.fail_after(60):
        await main(*sys.argv[1:])


anyio.run(in_time)
