// Asserts conditions, immediately or within a timeout.

export const STEP_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 50;

export function assert(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

export async function until(
  holds: () => Promise<boolean>,
  otherwise: () => string,
  timeout = STEP_TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeout;
  while (!(await holds())) {
    assert(Date.now() < deadline, otherwise());
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

/** Returns true once the condition holds, and false after the timeout or if `holds` throws. */
export async function soon(holds: () => Promise<boolean>, timeout: number): Promise<boolean> {
  const held = until(holds, () => "", timeout);
  return held.then(
    () => true,
    () => false,
  );
}
