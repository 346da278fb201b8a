"""The index: what it takes in, what it forgets, and that a snapshot is all or nothing."""

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth_world import PLATFORM_KEY, UPTIME, World, make_key
from privatellm.errors import MalformedVerifierError
from privatellm.verifiers import Digest, hash_profile
from privatellm_authserver import index as index_module
from privatellm_authserver.index import REMEMBER_REVOKED_SECONDS, EntryReader, TokenIndex


@pytest.fixture
def world() -> World:
    return World()


def test_an_entry_holds_what_a_request_needs(world: World) -> None:
    """The instance's backend key is computed once, not for every request."""
    key = world.key()

    entry = world.index.find(key.key_id)

    backend_key = PLATFORM_KEY.backend_key(key.uid)
    assert entry.instance.authorization == f"Bearer {backend_key}".encode()
    assert entry.instance.path == f"/llm/{key.slug}".encode()
    assert backend_key not in repr(entry)
    assert repr(entry.digest) not in repr(entry)


def test_keys_of_one_instance_share_what_they_have_in_common(world: World) -> None:
    """A thousand keys of one instance hold its backend key once."""
    one, two = world.key(), world.key()

    assert world.index.find(one.key_id).instance is world.index.find(two.key_id).instance


def test_an_unknown_key_is_compared_with_a_verifier_that_nothing_fits(world: World) -> None:
    """So it costs and answers the same as a wrong secret."""
    nobody = world.index.find(b"a" * 12)

    assert not nobody.fits(b"")
    assert nobody.valid_from == float("inf")


@given(st.text(alphabet="ab", max_size=3), st.text(alphabet="ab", max_size=3))
def test_an_entry_judges_a_secret_as_the_kernel_does(right: str, said: str) -> None:
    """It keeps digest and salt side by side, and compares as :class:`Digest` defines it."""
    digest = Digest.decode(hash_profile().hash(right))
    entry = replace(World().index.find(b"nobody"), digest=digest.value, salt=digest.salt)

    assert entry.fits(said.encode()) is digest.matches(said.encode()) is (right == said)


def _other_name(secret: dict[str, Any]) -> None:
    secret["metadata"]["name"] = "v-aaaaaaaaaaaa"


def _other_slug(secret: dict[str, Any]) -> None:
    secret["data"]["slug"] = "YWFhYWFhYWFhYWFhYWFhYQ=="


def _other_type(secret: dict[str, Any]) -> None:
    secret["type"] = "Opaque"


def _other_scheme(secret: dict[str, Any]) -> None:
    secret["data"]["hash"] = "e1NTSEF9YWJj"


def _no_data(secret: dict[str, Any]) -> None:
    del secret["data"]


def _not_base64(secret: dict[str, Any]) -> None:
    secret["data"]["not-before"] = "!"


FORGERIES = [_other_name, _other_slug, _other_type, _other_scheme, _no_data, _not_base64]


@pytest.mark.parametrize("forge", FORGERIES)
def test_what_is_no_verifier_is_ignored_and_counted(world: World, forge: Any) -> None:
    """Name and key id, slug and UID, type and hash scheme must fit each other."""
    key = make_key()
    forge(key.secret)

    refusal = world.index.put(key.secret, UPTIME)

    assert isinstance(refusal, MalformedVerifierError)
    assert (world.index.tokens, world.index.rejected) == (0, 1)
    assert world.index.find(key.key_id) is world.index.find(b"unknown")


@pytest.mark.parametrize("forge", [_other_slug, _other_type, _no_data])
def test_a_verifier_that_turns_bad_revokes_its_key(world: World, forge: Any) -> None:
    """When in doubt, nobody gets in."""
    key = world.key()
    forge(key.secret)

    world.index.put(key.secret, UPTIME)

    assert world.index.find(key.key_id).revoked
    assert world.index.rejected == 1


def test_a_rejected_secret_that_is_deleted_is_no_longer_counted(world: World) -> None:
    """The gauge shows what is there now."""
    key = make_key()
    _other_type(key.secret)
    world.index.put(key.secret, UPTIME)

    world.index.remove(key.verifier_name, UPTIME)

    assert world.index.rejected == 0


def test_a_removed_key_is_remembered_as_revoked_for_an_hour(world: World) -> None:
    """Long enough to tell its holder, and then it is as unknown as any other."""
    key = world.key()
    world.index.remove(key.verifier_name, UPTIME)

    assert world.index.find(key.key_id).revoked
    assert (world.index.tokens, world.index.revoked) == (0, 1)

    world.index.forget_revoked(UPTIME + REMEMBER_REVOKED_SECONDS + 1)

    assert world.index.find(key.key_id) is world.index.find(b"unknown")
    assert world.index.revoked == 0


@pytest.mark.parametrize("way", ["put", "relist"])
def test_a_revoked_key_never_comes_back(world: World, way: str) -> None:
    """Not even when a verifier of that name appears again."""
    key = world.key()
    world.index.remove(key.verifier_name, UPTIME)

    if way == "put":
        world.index.put(key.secret, UPTIME)
    else:
        snapshot = world.index.new_snapshot()
        snapshot.add(key.secret)
        world.index.swap(snapshot, UPTIME)

    assert world.index.find(key.key_id).revoked
    assert world.index.tokens == 0


def test_the_memory_of_revoked_keys_is_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest are forgotten first."""
    monkeypatch.setattr(index_module, "REMEMBER_REVOKED_KEYS", 2)
    keys = [world.key() for _ in range(4)]

    for key in keys:
        world.index.remove(key.verifier_name, UPTIME)

    assert [world.index.find(key.key_id).revoked for key in keys[2:]] == [True, True]
    assert [world.index.find(key.key_id).revoked for key in keys[:2]] == [False, False]
    assert world.index.revoked == 2


def test_removing_what_is_unknown_does_nothing(world: World) -> None:
    """A deletion may be seen twice, and foreign Secrets come and go."""
    key = world.key()

    world.index.remove("something-else", UPTIME)
    world.index.remove(key.verifier_name, UPTIME)
    world.index.remove(key.verifier_name, UPTIME)

    assert (world.index.tokens, world.index.revoked) == (0, 1)


def test_a_relist_replaces_the_world_at_once(world: World) -> None:
    """Until the swap readers see the old world; after it what vanished is revoked."""
    kept, gone, new = world.key(), world.key(), make_key()
    snapshot = world.index.new_snapshot()
    snapshot.add(kept.secret)
    snapshot.add(new.secret)

    before = world.index.tokens, world.index.find(new.key_id).revoked
    world.index.swap(snapshot, UPTIME)

    assert before == (2, False)
    assert world.index.tokens == 2
    assert not world.index.find(kept.key_id).revoked
    assert world.index.find(new.key_id).digest is not world.index.find(b"unknown").digest
    assert world.index.find(gone.key_id).revoked


def test_a_relist_forgets_old_rejections(world: World) -> None:
    """The gauge shows the Secrets of the last list and what came after."""
    bad = make_key()
    _other_type(bad.secret)
    world.index.put(bad.secret, UPTIME)

    world.index.swap(world.index.new_snapshot(), UPTIME)

    assert world.index.rejected == 0


def test_confirmations_never_go_back(world: World) -> None:
    """A list that started long ago does not undo a later watch event."""
    world.index.confirm(UPTIME + 10)
    world.index.confirm(UPTIME + 5)

    assert world.index.confirmed_at == UPTIME + 10


def test_an_entry_is_small() -> None:
    """100 000 keys fit into a fraction of the 200 MB that a worker may use."""
    count = 2000
    secrets = [make_key(f"uid-{number // 10}").secret for number in range(count)]
    index = TokenIndex(EntryReader(PLATFORM_KEY), 60.0)
    tracemalloc.start()
    snapshot = index.new_snapshot()
    for secret in secrets:
        snapshot.add(secret)
    index.swap(snapshot, UPTIME)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert index.tokens == count
    assert size / count < 600


def test_the_index_tells_which_keys_ended_since_a_time() -> None:
    """By a watch event or by a new list; for whoever measures how fast that is."""
    world = World()
    first, second = world.key(), world.key()

    world.index.remove(first.verifier_name, UPTIME + 1)
    snapshot = world.index.new_snapshot()
    world.index.swap(snapshot, UPTIME + 2)

    both = {first.key_id: UPTIME + 1, second.key_id: UPTIME + 2}
    assert world.index.revoked_since(UPTIME) == both
    assert world.index.revoked_since(UPTIME + 1) == {second.key_id: UPTIME + 2}
    assert world.index.revoked_since(UPTIME + 2) == {}
