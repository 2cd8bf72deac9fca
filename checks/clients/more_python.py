"""LangChain, PydanticAI and LiteLLM against a running `botpsy serve`.

    python3 checks/clients/more_python.py http://127.0.0.1:PORT/v1 KEY

Needs `pip install langchain-openai 'pydantic-ai-slim[openai]' litellm`.
"""

import sys

MESSAGE = "Wake me up at 7 am"


def langchain(url, key):
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def set_alarm(time: str) -> str:
        """Sets an alarm."""
        return "done"

    model = ChatOpenAI(model="m", base_url=url, api_key=key, max_retries=0)
    assert model.invoke(MESSAGE).usage_metadata["output_tokens"] > 0
    bound = model.bind_tools([set_alarm], tool_choice="any")
    assert isinstance(bound.invoke(MESSAGE).tool_calls[0]["args"]["time"], str)
    total = None
    for chunk in bound.stream(MESSAGE):
        total = chunk if total is None else total + chunk
    assert isinstance(total.tool_calls[0]["args"]["time"], str)


def pydantic_ai(url, key):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class_model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key=key))
    agent, called = Agent(class_model), []

    @agent.tool_plain
    def set_alarm(time: str) -> str:
        """Sets an alarm."""
        called.append(time)
        return "done"

    result = agent.run_sync(MESSAGE)
    assert isinstance(result.output, str) and all(isinstance(time, str) for time in called)


def litellm(url, key):
    import litellm

    tools = [{"type": "function", "function": {"name": "set_alarm", "description": "Sets an alarm", "parameters": {
        "type": "object", "properties": {"time": {"type": "string"}}, "required": ["time"]}}}]
    request = dict(model="openai/m", api_base=url, api_key=key, messages=[{"role": "user", "content": MESSAGE}])
    reply = litellm.completion(**request, tools=tools, tool_choice="required")
    assert reply.choices[0].message.tool_calls[0].function.name == "set_alarm"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in litellm.completion(**request, stream=True))
    assert isinstance(text, str)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for check in (langchain, pydantic_ai, litellm):
        check(*sys.argv[1:])
        print(f"python: {check.__name__}")
