// What a page of the server asks it to do, with the token that a foreign page cannot read.

const token = document.querySelector("meta[name=token]")?.content ?? "";

export async function send(action, content) {
  const headers = { "Content-Type": "application/json", "X-Curta-Token": token };
  const reply = await fetch(`/trainings/${action}`, { method: "POST", headers, body: JSON.stringify(content) });
  const answer = await reply.json().catch(() => ({ error: reply.statusText }));
  if (!reply.ok) throw new Error(answer.error);
  return answer;
}
