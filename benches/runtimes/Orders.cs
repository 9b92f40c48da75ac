using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;

/// As orders.py: `dotnet Orders.dll cpu|mixed COUNT FILE PIECE`.
public static class Orders
{
    static readonly string[] Lines = new string[64];

    static void Fill()
    {
        for (int line = 0; line < 64; line++)
        {
            string[] parts = new string[20];
            for (int part = 0; part < 20; part++) parts[part] = (line * 37 + part * 11).ToString();
            Lines[line] = string.Join(",", parts);
        }
    }

    static int[] Parse(string line)
    {
        string[] parts = line.Split(',');
        int[] numbers = new int[parts.Length];
        for (int i = 0; i < parts.Length; i++) numbers[i] = int.Parse(parts[i]);
        return numbers;
    }

    static int Price(int[] parts)
    {
        long total = 0;
        foreach (int part in parts) total = (total * 31 + part) % 1000003;
        return (int)total;
    }

    static void Handle(int number, Dictionary<int, int> totals)
    {
        int key = Price(Parse(Lines[number % 64])) % 997;
        totals.TryGetValue(key, out int before);
        totals[key] = before + 1;
    }

    static void HandleAll(int first, int count, Dictionary<int, int> totals)
    {
        for (int number = first; number < first + count; number++) Handle(number, totals);
    }

    static void Mix(int begin, int count, string path, Dictionary<int, int> totals)
    {
        for (int first = begin; first < begin + count; first += 250)
        {
            HandleAll(first, 250, totals);
            File.ReadAllBytes(path);
            Thread.Sleep(1);
        }
    }

    public static void Main(string[] arguments)
    {
        Fill();
        int count = int.Parse(arguments[1]);
        int piece = int.Parse(arguments[3]);
        var totals = new Dictionary<int, int>();
        for (int first = 0; first < count; first += piece)
        {
            if (arguments[0] == "cpu") HandleAll(first, piece, totals);
            else Mix(first, piece, arguments[2], totals);
            Console.WriteLine(totals.Count);
        }
    }
}
