/**
 * Asks the application, again and again while somebody looks.
 *
 * Promise: one question of a kind is open at a time; a page in the background asks nothing; what
 * went wrong is told in words, and the next question is asked all the same.
 */
const EVERY_MS = 2000;
const TIMEOUT_MS = 10_000;

/** The page may lie behind any prefix, with or without a slash at its end. */
const HERE = `${location.pathname.replace(/\/+$/, '')}/`;

export class Refused extends Error {}

export async function ask<Answer>(
  what: string,
  parameters: Readonly<Record<string, string | undefined>> = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const given = Object.entries(parameters).filter((entry) => entry[1] !== undefined);
  const query = String(new URLSearchParams(given as [string, string][]));
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(HERE + what + (query && `?${query}`), {
    headers: { accept: 'application/json' },
    signal: signal === undefined ? limit : anyOf(signal, limit),
  });
  if (!response.ok) throw new Refused(refusalOf(response.status));
  return (await response.json()) as Answer;
}

/** Asks now, then every two seconds after the answer. */
export function askOften<Answer>(
  question: () => Promise<Answer>,
  onAnswer: (answer: Answer) => void,
  onFault: (text: string) => void,
): () => Promise<void> {
  let timer: number | undefined;
  let turn = 0;
  const next = async () => {
    clearTimeout(timer);
    const own = ++turn;
    try {
      const answer = await question();
      if (own === turn) onAnswer(answer);
    } catch (error) {
      if (own === turn) onFault(faultText(error));
    }
    if (own === turn && !document.hidden) timer = window.setTimeout(() => void next(), EVERY_MS);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else void next();
  });
  return next;
}

function refusalOf(status: number): string {
  if (status === 401 || status === 403) {
    return `This page is no longer yours to see (${status}). Sign in again and reload it.`;
  }
  return `The application answered ${status}.`;
}

function faultText(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return `The application did not answer within ${TIMEOUT_MS / 1000} s.`;
  }
  return 'The application does not answer.';
}

/** AbortSignal.any is younger than some of the browsers this page is for. */
function anyOf(...signals: readonly AbortSignal[]): AbortSignal {
  const either = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) either.abort(signal.reason);
    signal.addEventListener('abort', () => either.abort(signal.reason), { once: true });
  }
  return either.signal;
}
