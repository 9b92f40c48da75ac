"""Event loops that wait for ever: a thread each, and each awaits in another way. What it shows is a
line `TID NAME` for each."""

import asyncio, threading


async def answer():
    await asyncio.get_running_loop().create_future()


async def other():
    await asyncio.get_running_loop().create_future()


class Awaitable:
    def __await__(self):
        return answer().__await__()


async def items():
    await answer()
    yield 1


async def nested():
    await answer()


async def wrapped():
    await Awaitable()


async def generated():
    async for _ in items():
        pass


async def awaited():
    # Tasks that are done do not count.
    await asyncio.gather(*[asyncio.sleep(0) for _ in range(3)])
    await asyncio.create_task(answer())


async def gathered():
    await asyncio.gather(asyncio.gather(answer(), answer()), answer())


async def apart():
    await asyncio.gather(answer(), other())


async def grouped():
    async with asyncio.TaskGroup() as group:
        group.create_task(answer())
        group.create_task(answer())


async def busy_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(answer())
        await other()


async def waited():
    await asyncio.wait([asyncio.create_task(answer()), asyncio.create_task(answer())])


async def shielded():
    await asyncio.shield(answer())


async def limited():
    await asyncio.wait_for(answer(), 1e6)


async def several():
    task = asyncio.create_task(other())
    await answer()
    await task


async def crowded():
    await asyncio.gather(*[answer() for _ in range(64)])


ways = [nested, wrapped, generated, awaited, gathered, apart, grouped, busy_group, waited, shielded]
ways += [limited, several, crowded]


threads = [threading.Thread(target=lambda way=way: asyncio.run(way()), name=way.__name__) for way in ways]
for thread in threads:
    thread.start()
for thread in threads:
    print(thread.native_id, thread.name, flush=True)
